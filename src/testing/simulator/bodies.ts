import { PermanentError, RetryAfterError } from '../../core/errors.ts'
import type { StepContext } from '../../engine/workflow.ts'
import type { EngineEvent } from '../../ports/observer.ts'
import { type Dice, hash } from './dice.ts'
import type { Process } from './process.ts'
import type { Tracer } from './tracer.ts'

/** What a workflow has seen so far, in short: whatever differs between two executions shows in it. */
export class Seen {
  #digest = 0

  /** Takes something in. */
  take(what: unknown): void {
    this.#digest = hash(`${this.#digest}|${JSON.stringify(what) ?? 'nothing'}`)
  }

  get digest(): string {
    return this.#digest.toString(36)
  }
}

/** How a body behaves. */
export interface Behaviour {
  /** How often an attempt fails, 0 … 1. */
  readonly fails?: number
  /** How long it takes at most, in ms. */
  readonly takes?: number
}

/**
 * The bodies of the steps of one process. They take (virtual) time, fail by chance, and leave in the trace with which
 * arguments they were called.
 */
export class Bodies {
  readonly #process: Process
  readonly #tracer: Tracer
  readonly #dice: Dice
  #started: Extract<EngineEvent, { type: 'body-started' }> | null = null
  #count = 0

  constructor(process: Process, tracer: Tracer, dice: Dice) {
    this.#process = process
    this.#tracer = tracer
    this.#dice = dice
  }

  /** To be told of every event of the engine: a body begins in the same turn as its event. */
  observe(event: EngineEvent): void {
    if (event.type === 'body-started') this.#started = event
  }

  /** Does a step's work: resolves with a value that no other call has, unless it fails. */
  async work(
    args: string,
    { signal }: StepContext,
    { fails = 0, takes = 500 }: Behaviour = {},
  ): Promise<string> {
    const dice = this.#dice
    const { runId, fence, key } = this.#started ?? { runId: '', fence: 0, key: '' }
    this.#tracer.add({ type: 'effect', process: this.#process.name, runId, fence, key, args })
    this.#count += 1
    const result = `${key}@${this.#process.name}:${this.#count}`
    const failing = dice.chance(fails)
    if (!dice.chance(0.1)) await this.#pause(dice.int(0, takes), dice.chance(0.7) ? signal : null)
    if (failing) throw this.#error(result)
    return result
  }

  #error(what: string): Error {
    const dice = this.#dice
    if (dice.chance(0.1)) return new PermanentError(`${what} fails for good`)
    if (dice.chance(0.1)) return new RetryAfterError(dice.int(0, 2000), `${what} wants another time`)
    return new Error(`${what} fails`)
  }

  /** A pause that a signal ends, if the body heeds it. */
  #pause(ms: number, signal: AbortSignal | null): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        cancel()
        reject(signal?.reason)
      }
      const cancel = this.#process.env.setTimer(ms, () => {
        signal?.removeEventListener('abort', abort)
        resolve()
      })
      signal?.addEventListener('abort', abort, { once: true })
    })
  }
}
