import type { Collection, CollectionOptions, Db, Document } from 'mongodb'
import { StoreError } from '../../core/errors.ts'
import { refusesMajority, toStoreError } from './failures.ts'
import { Patience } from './patience.ts'
import type { Collections } from './schema.ts'

export interface ConnectionOptions {
  /** What messages call the database. */
  readonly place: string
  /** Gives the database, after it has connected if that is needed. */
  readonly open: () => Promise<Db>
  readonly close: () => Promise<void>
  /** Told whenever a call is over and no other one is under way. */
  readonly idle?: () => void
  /** What the names of the collections begin with. */
  readonly prefix: string
  /** How long one call may take, in ms. */
  readonly timeoutMs: number
}

/** What a call of the store works with. */
export interface Context {
  readonly collections: Collections
  readonly patience: Patience
}

/** All calls to the database go through here: counted, limited in time, and with errors of this package. */
export class Connection {
  readonly #options: ConnectionOptions
  readonly #calls = new Set<Promise<unknown>>()
  #collections: { readonly db: Db; readonly level: ReadLevel; readonly all: Collections } | null = null
  /** Nothing that is told to a caller may be undone by a failover. */
  #level: ReadLevel = 'majority'
  #closing: Promise<void> | null = null

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  get place(): string {
    return this.#options.place
  }

  /** `atMostMs`: how long it may take, if less than other calls. */
  async call<Result>(
    body: (context: Context) => Promise<Result>,
    atMostMs = Number.POSITIVE_INFINITY,
  ): Promise<Result> {
    const { place, timeoutMs } = this.#options
    if (this.#closing !== null) {
      throw new StoreError('unavailable', `The store ${place} is closed. Create a new one to go on.`)
    }
    const patience = new Patience(Math.min(timeoutMs, atMostMs))
    const result = patience.inTime(this.#run(body, patience))
    this.#calls.add(result)
    try {
      return await result
    } catch (error) {
      throw toStoreError(error, place)
    } finally {
      this.#calls.delete(result)
      if (this.#calls.size === 0 && this.#closing === null) this.#options.idle?.()
    }
  }

  /** Waits for the calls that are under way. Later calls reject. */
  close(): Promise<void> {
    this.#closing ??= Promise.allSettled(this.#calls).then(this.#options.close)
    return this.#closing
  }

  async #run<Result>(body: (context: Context) => Promise<Result>, patience: Patience): Promise<Result> {
    try {
      return await body({ collections: await this.#open(), patience })
    } catch (error) {
      if (this.#level === 'local' || !refusesMajority(error)) throw error
      // A server that is alone, or an older one in a set with an arbiter. Whatever the call did may be done again.
      this.#level = 'local'
      return await body({ collections: await this.#open(), patience })
    }
  }

  async #open(): Promise<Collections> {
    const db = await this.#options.open()
    const level = this.#level
    const known = this.#collections
    if (known?.db === db && known.level === level) return known.all
    const all = collectionsOf(db, level, this.#options)
    this.#collections = { db, level, all }
    return all
  }
}

type ReadLevel = 'majority' | 'local'

function collectionsOf(
  db: Db,
  level: ReadLevel,
  { prefix, timeoutMs }: Pick<ConnectionOptions, 'prefix' | 'timeoutMs'>,
): Collections {
  const options: CollectionOptions = {
    readPreference: 'primary',
    readConcern: { level },
    writeConcern: { w: 'majority', journal: true, wtimeoutMS: Math.ceil(timeoutMs) },
    // An application may have set others for its own collections.
    ...{ promoteValues: true, promoteLongs: true, promoteBuffers: false, useBigInt64: false },
    ...{ ignoreUndefined: false, serializeFunctions: false, raw: false },
  }
  const collection = <Schema extends Document>(name: string): Collection<Schema> =>
    db.collection<Schema>(`${prefix}${name}`, options)
  return {
    db,
    runs: collection('runs'),
    journal: collection('journal'),
    inbox: collection('inbox'),
    workers: collection('workers'),
    removals: collection('removals'),
    migrations: collection('migrations'),
  }
}
