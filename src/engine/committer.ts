import { EngineClosedError, StoreError } from '../core/errors.ts'
import type { Environment } from '../ports/environment.ts'
import type { Hint, Notifier } from '../ports/notifier.ts'
import type { Store, Write, WriteResult } from '../ports/store.ts'
import { hintsOf } from './hints.ts'
import { LogSampler } from './log-sampler.ts'

/**
 * Something that has a write to make. It is asked for it only when a commit is about to leave, so all that
 * gathers while another commit is in flight becomes one write.
 */
export interface WriteSource {
  /** The write, or `null` if there is nothing to write any more. */
  take(): Write | null
  /** What became of it. */
  done(result: WriteResult): void
  /** Called instead of `done` when the write was given up: the engine closed, or the store cannot take it. */
  failed(error: unknown): void
  /** Whether to go on trying while the store fails. A claim's writes are worth it until the lease is over. */
  patient(error: unknown): boolean
}

/** More writes than this go into the next commit. */
const MAX_BATCH = 500
const FIRST_RETRY_MS = 20
const LAST_RETRY_MS = 1000

/**
 * The group committer: all writes of all runs of an engine go through it. While one commit is in flight, new
 * writes gather; then they go together: one transaction, one flush, many runs. Writes leave in the order in
 * which their sources were enlisted, and one commit is finished before the next starts, so the writes of a run
 * never overtake each other.
 */
export class Committer {
  readonly #store: Store
  readonly #env: Environment
  readonly #notifier: Notifier
  readonly #outage: LogSampler
  readonly #queue = new Set<WriteSource>()
  #busy = false
  #closed = false
  #finishing = false
  #idle: (() => void)[] = []

  constructor(store: Store, env: Environment, notifier: Notifier) {
    this.#store = store
    this.#env = env
    this.#notifier = notifier
    this.#outage = new LogSampler(env.log)
  }

  /** Puts a source in line; does nothing if it is in line already. */
  enlist(source: WriteSource): void {
    if (this.#closed) {
      this.#env.settled(() => source.failed(new EngineClosedError()))
      return
    }
    this.#queue.add(source)
    if (this.#busy) return
    this.#busy = true
    // What else is written in this turn of the event loop shall join.
    this.#env.settled(() => void this.#run())
  }

  /** Makes one write. Rejects with a `StoreError` if the store cannot take it, `EngineClosedError` if closed. */
  submit(write: Write, giveUpAt: number): Promise<WriteResult> {
    return new Promise((resolve, reject) => {
      this.enlist({
        take: () => write,
        done: resolve,
        failed: reject,
        patient: (error) => isPassing(error) && this.#env.now() < giveUpAt,
      })
    })
  }

  /** Resolves when nothing is in line or in flight. From now on, what the store refuses is not tried again. */
  finish(): Promise<void> {
    this.#finishing = true
    return this.#busy ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve()
  }

  /** Refuses all further writes. */
  close(): void {
    this.#closed = true
  }

  async #run(): Promise<void> {
    let batch: readonly Pending[] = []
    let delay = FIRST_RETRY_MS
    while (batch.length > 0 || this.#queue.size > 0) {
      // What was written while the store failed joins the next try, so that nobody waits behind an outage unasked.
      batch = this.#gather(batch)
      batch = await this.#try(batch)
      delay = batch.length === 0 ? FIRST_RETRY_MS : Math.min(delay * 2, LAST_RETRY_MS)
      if (batch.length > 0) await this.#pause(delay)
    }
    this.#busy = false
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Fills a batch up. A source whose write is under way waits for its result before it is asked for the next. */
  #gather(batch: readonly Pending[]): readonly Pending[] {
    const filled = [...batch]
    const underWay = new Set(batch.map(({ source }) => source))
    for (const source of this.#queue) {
      if (filled.length >= MAX_BATCH) break
      if (underWay.has(source)) continue
      this.#queue.delete(source)
      const write = source.take()
      if (write !== null) filled.push({ source, write })
    }
    return filled
  }

  /** Commits a batch. Returns what is to be sent again. */
  async #try(batch: readonly Pending[]): Promise<readonly Pending[]> {
    if (batch.length === 0) return []
    let results: readonly WriteResult[]
    try {
      results = await this.#store.commit(batch.map(writeOf), this.#env.now())
    } catch (error) {
      // Nothing of the batch, or an unknown part, was applied. Every write is idempotent or fenced, so it is sent again.
      this.#outage.failed('the store refused a commit; trying again', error)
      return isFull(error) && batch.length > 1 ? await this.#tryEach(batch) : this.#keepPatient(batch, error)
    }
    this.#outage.succeeded()
    this.#settle(batch, results)
    return []
  }

  /** What does not fit must not keep out what does. */
  async #tryEach(batch: readonly Pending[]): Promise<readonly Pending[]> {
    const left: Pending[] = []
    for (const pending of batch) left.push(...(await this.#try([pending])))
    return left
  }

  #keepPatient(batch: readonly Pending[], error: unknown): readonly Pending[] {
    return batch.filter(({ source }) => {
      if (!this.#finishing && source.patient(error)) return true
      source.failed(error)
      return false
    })
  }

  #pause(delay: number): Promise<void> {
    return new Promise((resolve) => this.#env.setTimer(delay * (0.5 + this.#env.random('commit')), resolve))
  }

  #settle(batch: readonly Pending[], results: readonly WriteResult[]): void {
    const hints: Hint[] = []
    for (const [index, { source, write }] of batch.entries()) {
      const result = results[index]
      if (result === undefined) source.failed(new StoreError('corrupt', NO_ANSWER))
      else {
        hintsOf(write, result, hints)
        source.done(result)
      }
    }
    if (hints.length > 0) this.#notifier.publish(hints)
  }
}

const NO_ANSWER = 'The store returned fewer results than it was given writes. That is a fault of the store.'

interface Pending {
  readonly source: WriteSource
  readonly write: Write
}

function writeOf(pending: Pending): Write {
  return pending.write
}

function isFull(error: unknown): boolean {
  return error instanceof StoreError && error.failure === 'full'
}

/** Whether the store may recover by itself soon. */
function isPassing(error: unknown): boolean {
  return !(error instanceof StoreError) || error.failure === 'unavailable'
}
