import { EngineClosedError, RunNotFoundError, StoreError } from '../core/errors.ts'
import { isTerminal, type RunRecord } from '../core/run.ts'
import type { Environment } from '../ports/environment.ts'
import type { Store } from '../ports/store.ts'
import { LogSampler } from './log-sampler.ts'

/** How a run ended. */
export type Ended = Pick<RunRecord, 'workflow' | 'status' | 'output' | 'error'>

interface Waiter {
  resolve(ended: Ended): void
  reject(error: unknown): void
}

/** Those who wait for one run. */
interface Watch {
  readonly waiters: Set<Waiter>
  cancelTimer: () => void
}

/** Looking for runs that ended elsewhere without a hint. Doubles up to the poll interval. */
const FIRST_LOOK_MS = 50

/**
 * Those who wait for runs to end. A run that ends in this process resolves them at once, a hint makes them look, and
 * they look by themselves now and then: hints may be lost.
 */
export class Waiters {
  readonly #store: Store
  readonly #env: Environment
  readonly #pollInterval: number
  /** Whether the run is executing or parked here, so that its end will most likely be told. */
  readonly #isHere: (runId: string) => boolean
  readonly #watches = new Map<string, Watch>()
  readonly #outage: LogSampler
  #closed = false

  constructor(store: Store, env: Environment, pollInterval: number, isHere: (runId: string) => boolean) {
    this.#store = store
    this.#env = env
    this.#pollInterval = pollInterval
    this.#isHere = isHere
    this.#outage = new LogSampler(env.log)
  }

  /** Resolves when the run has ended. An aborted wait stays unsettled. */
  wait(runId: string, signal?: AbortSignal): Promise<Ended> {
    if (this.#closed) return Promise.reject(new EngineClosedError())
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject }
      const watch = this.#watches.get(runId) ?? this.#watch(runId)
      watch.waiters.add(waiter)
      signal?.addEventListener('abort', () => this.#leave(runId, watch, waiter), { once: true })
    })
  }

  /** A run has ended, in this process, like this. */
  ended(runId: string, ended: Ended): void {
    for (const waiter of this.#take(runId)) waiter.resolve(ended)
  }

  /** A run has ended somewhere. */
  hint(runId: string): void {
    if (this.#watches.has(runId)) void this.#look(runId)
  }

  close(): void {
    this.#closed = true
    for (const runId of [...this.#watches.keys()]) {
      for (const waiter of this.#take(runId)) waiter.reject(new EngineClosedError())
    }
  }

  #watch(runId: string): Watch {
    const watch: Watch = { waiters: new Set(), cancelTimer: () => {} }
    this.#watches.set(runId, watch)
    if (this.#isHere(runId)) this.#lookLater(runId, watch, this.#pollInterval)
    else void this.#look(runId).then(() => this.#lookLater(runId, watch, FIRST_LOOK_MS))
    return watch
  }

  #leave(runId: string, watch: Watch, waiter: Waiter): void {
    watch.waiters.delete(waiter)
    if (watch.waiters.size === 0 && this.#watches.get(runId) === watch) this.#take(runId)
  }

  /** Ends the watch of a run. Returns who waited. */
  #take(runId: string): Iterable<Waiter> {
    const watch = this.#watches.get(runId)
    this.#watches.delete(runId)
    watch?.cancelTimer()
    return watch?.waiters ?? []
  }

  /** Looks again and again while the watch lasts. */
  #lookLater(runId: string, watch: Watch, delayMs: number): void {
    if (this.#watches.get(runId) !== watch) return
    watch.cancelTimer = this.#env.setTimer(delayMs, () => {
      const next = Math.min(delayMs * 2, this.#pollInterval)
      void this.#look(runId).then(() => this.#lookLater(runId, watch, next))
    })
  }

  async #look(runId: string): Promise<void> {
    const watch = this.#watches.get(runId)
    try {
      const run = await this.#store.getRun(runId)
      this.#outage.succeeded()
      // Others may wait by now, for what happened since.
      if (watch === undefined || this.#watches.get(runId) !== watch) return
      if (run === null) this.#refuse(runId)
      else if (isTerminal(run.status)) this.ended(runId, run)
    } catch (error) {
      if (error instanceof StoreError && error.failure !== 'unavailable') {
        for (const waiter of this.#take(runId)) waiter.reject(error)
      }
      this.#outage.failed('looking for the end of a run failed; trying again', error)
    }
  }

  #refuse(runId: string): void {
    for (const waiter of this.#take(runId)) waiter.reject(new RunNotFoundError(runId))
  }
}
