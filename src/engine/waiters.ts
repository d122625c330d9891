import { EngineClosedError, RunNotFoundError } from '../core/errors.ts'
import { isTerminal, type RunRecord } from '../core/run.ts'
import type { Environment } from '../ports/environment.ts'
import type { Store } from '../ports/store.ts'

/** How a run ended. */
export type Ended = Pick<RunRecord, 'workflow' | 'status' | 'output' | 'error'>

interface Waiter {
  resolve(ended: Ended): void
  reject(error: unknown): void
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
  /** Whether the run is executing or parked here, so that its end will be told. */
  readonly #isHere: (runId: string) => boolean
  readonly #waiters = new Map<string, Set<Waiter>>()
  #closed = false

  constructor(store: Store, env: Environment, pollInterval: number, isHere: (runId: string) => boolean) {
    this.#store = store
    this.#env = env
    this.#pollInterval = pollInterval
    this.#isHere = isHere
  }

  /** Resolves when the run has ended. An aborted wait stays unsettled. */
  wait(runId: string, signal?: AbortSignal): Promise<Ended> {
    if (this.#closed) return Promise.reject(new EngineClosedError())
    return new Promise((resolve, reject) => {
      const waiter = { resolve, reject }
      const others = this.#waiters.get(runId)
      if (others !== undefined) others.add(waiter)
      else {
        const waiters = new Set([waiter])
        this.#waiters.set(runId, waiters)
        if (this.#isHere(runId)) this.#lookLater(runId, waiters, this.#pollInterval)
        else void this.#look(runId).then(() => this.#lookLater(runId, waiters, FIRST_LOOK_MS))
      }
      signal?.addEventListener('abort', () => this.#leave(runId, waiter), { once: true })
    })
  }

  /** A run has ended, in this process, like this. */
  ended(runId: string, ended: Ended): void {
    const waiters = this.#waiters.get(runId)
    this.#waiters.delete(runId)
    for (const waiter of waiters ?? []) waiter.resolve(ended)
  }

  /** A run has ended somewhere. */
  hint(runId: string): void {
    if (this.#waiters.has(runId)) void this.#look(runId)
  }

  close(): void {
    this.#closed = true
    const all = [...this.#waiters.values()]
    this.#waiters.clear()
    for (const waiters of all) for (const waiter of waiters) waiter.reject(new EngineClosedError())
  }

  #leave(runId: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(runId)
    waiters?.delete(waiter)
    if (waiters?.size === 0) this.#waiters.delete(runId)
  }

  /** Looks again and again while these waiters wait. */
  #lookLater(runId: string, waiters: ReadonlySet<Waiter>, delayMs: number): void {
    if (this.#waiters.get(runId) !== waiters) return
    this.#env.setTimer(delayMs, () => {
      if (this.#waiters.get(runId) !== waiters) return
      const next = Math.min(delayMs * 2, this.#pollInterval)
      void this.#look(runId).then(() => this.#lookLater(runId, waiters, next))
    })
  }

  async #look(runId: string): Promise<void> {
    const waiters = this.#waiters.get(runId)
    try {
      const run = await this.#store.getRun(runId)
      if (run !== null && !isTerminal(run.status)) return
      if (waiters === undefined || this.#waiters.get(runId) !== waiters) return
      if (run !== null) return this.ended(runId, run)
      this.#waiters.delete(runId)
      for (const waiter of waiters) waiter.reject(new RunNotFoundError(runId))
    } catch (error) {
      this.#env.log.warn('looking for the end of a run failed; trying again', { runId, error: String(error) })
    }
  }
}
