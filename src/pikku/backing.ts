import { EngineClosedError, StoreError, UnserializableValueError } from '../core/errors.ts'
import type { NewRun } from '../core/run.ts'
import { consoleLog, systemEnvironment } from '../engine/environment.ts'
import { StoreClock } from '../engine/store-clock.ts'
import type { Environment, Log } from '../ports/environment.ts'
import type { RunJournal, Store, Write, WriteResult } from '../ports/store.ts'

/** How long a call goes on trying while the store cannot be reached, as the engine's callers do. */
const PATIENCE_MS = 5000
const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 1000

/** The store, opened before its first use, with its clock; calls are repeated while it cannot be reached. */
export class Backing {
  readonly store: Store
  readonly #clock: StoreClock | null
  readonly #environment: Environment
  #opened: Promise<void> | null = null
  #isClosed = false

  constructor(store: Store, log: Log = consoleLog) {
    this.store = store
    const system = systemEnvironment(log)
    const read = store.clock?.bind(store)
    this.#clock = read === undefined ? null : new StoreClock(system, read)
    this.#environment = this.#clock?.environment ?? system
  }

  /** Time goes by the store's clock. */
  get env(): Environment {
    return this.#environment
  }

  /** Opens the store. A failure is not remembered: the next call tries again. */
  async ready(): Promise<void> {
    this.#opened ??= this.#open()
    try {
      await this.#opened
    } catch (error) {
      this.#opened = null
      throw error
    }
  }

  /** One durable transaction; every write of it is idempotent or fenced, or tells of a repetition. */
  async commit(writes: readonly Write[]): Promise<readonly WriteResult[]> {
    const results = await this.persist(() => this.store.commit(writes, this.env.now()))
    const failed = results.find((result) => result.status === 'error')
    if (failed !== undefined) {
      throw new UnserializableValueError(`The store cannot take this: ${failed.message}`)
    }
    return results
  }

  async commitOne(write: Write): Promise<WriteResult> {
    const [result] = await this.commit([write])
    if (result === undefined) throw new Error('The store gave no result for a write.')
    return result
  }

  /** The records and their logs. */
  async read(ids: readonly string[]): Promise<readonly RunJournal[]> {
    if (ids.length === 0) return []
    return await this.persist(() => this.store.journal(ids, { entries: false }))
  }

  async readOne(id: string): Promise<RunJournal | null> {
    const [found] = await this.read([id])
    return found ?? null
  }

  /** Repeats a call while the store cannot be reached, for a while. */
  async persist<Value>(call: () => Promise<Value>): Promise<Value> {
    const giveUpAt = performance.now() + PATIENCE_MS
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        await this.ready()
        return await call()
      } catch (error) {
        const isOutage = error instanceof StoreError && error.failure === 'unavailable'
        if (!isOutage || performance.now() > giveUpAt) throw error
        await this.pause(pause)
      }
    }
  }

  /** @throws EngineClosedError when there is nothing to wait for any more */
  async pause(ms: number): Promise<void> {
    if (this.#isClosed) throw new EngineClosedError('This service is closed. Create a new one to go on.')
    await new Promise<void>((resolve) => this.env.setTimer(ms, resolve))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#opened?.catch(() => {})
    await this.#clock?.stop()
  }

  async #open(): Promise<void> {
    await this.store.migrate()
    await this.#clock?.start()
  }
}

/** What a record of Pikku's is created from; the rest is the same for all. */
export type Draft = Pick<NewRun, 'id' | 'workflow' | 'version' | 'input' | 'dueAt'> & {
  readonly retention: number
} & Partial<Pick<NewRun, 'parentId' | 'parentStep' | 'tags'>>

export function newRecord({
  retention,
  parentId = null,
  parentStep = null,
  tags = [],
  ...own
}: Draft): NewRun {
  const policy = { retry: null, timeout: null, retention, call: null }
  return { ...own, queue: 'pikku', key: null, priority: 0, tags, policy, parentId, parentStep, entries: [] }
}
