import type { EngineEvent, Observer } from '../ports/observer.ts'
import type { Store } from '../ports/store.ts'
import { wrapStore } from './wrap-store.ts'

/** One call of a step body. */
export interface BodyCall {
  readonly runId: string
  /** The step's journal key: its name, with `#2` and so on for repeated names. */
  readonly key: string
  /** 1 for the first attempt. */
  readonly attempt: number
  /** How it ended; `late` if nobody waited for it any more, `null` while it runs. */
  outcome: 'succeeded' | 'failed' | 'late' | null
}

/**
 * What an engine is doing, seen from outside: calls of its store that are not answered yet, executions that are
 * not parked, step bodies that run. Time must not move while any of these can go on without it.
 */
export class Activity {
  /** Step bodies in the order in which they were started. */
  readonly bodies: BodyCall[] = []
  /** Calls of the store that were not answered yet. */
  calls = 0
  /** Grows with everything that happens, except for reads. */
  progress = 0
  /** Executions that go on here, with the number of things that happened in them. */
  readonly #executions = new Map<string, number>()
  readonly #running = new Map<string, BodyCall>()

  /** Names of all that may go on in real time: bodies, and functions that await something that is no step. */
  open(): string[] {
    const bodies = [...this.#running.values()].map(
      ({ runId, key, attempt }) => `body ${runId} ${key} ${attempt}`,
    )
    if (bodies.length > 0) return bodies
    return [...this.#executions].map(([execution, happened]) => `function ${execution} ${happened}`)
  }

  /** The store, with its calls watched. */
  watch(store: Store): Store {
    return wrapStore(store, async (method, call) => {
      this.calls += 1
      if (method === 'commit') this.progress += 1
      try {
        return await call()
      } finally {
        this.calls -= 1
      }
    })
  }

  /** The engine's observer. */
  readonly observe: Observer = (event) => {
    this.progress += 1
    const execution = JSON.stringify([event.runId, event.fence])
    switch (event.type) {
      case 'execution-started':
        this.#executions.set(execution, 0)
        return
      case 'execution-left':
      case 'execution-lost':
        this.#executions.delete(execution)
        return
      case 'body-started':
        this.#bodyStarted(event)
        break
      case 'body-ended':
        this.#bodyEnded(event)
        break
      case 'handed-out':
        break
    }
    const happened = this.#executions.get(execution)
    if (happened !== undefined) this.#executions.set(execution, happened + 1)
  }

  #bodyStarted(event: EngineEvent & { readonly type: 'body-started' }): void {
    const { runId, key, attempt } = event
    const body: BodyCall = { runId, key, attempt, outcome: null }
    this.bodies.push(body)
    this.#running.set(idOf(event), body)
  }

  #bodyEnded(event: EngineEvent & { readonly type: 'body-ended' }): void {
    const body = this.#running.get(idOf(event))
    if (body !== undefined) body.outcome = event.outcome
    this.#running.delete(idOf(event))
  }
}

function idOf(event: EngineEvent & { readonly type: 'body-started' | 'body-ended' }): string {
  return JSON.stringify([event.runId, event.fence, event.key, event.attempt])
}
