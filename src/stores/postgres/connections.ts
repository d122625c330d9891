import type { Pool, PoolClient, QueryConfig, QueryResultRow } from 'pg'
import { StoreError } from '../../core/errors.ts'
import { hearErrors } from './driver.ts'
import { isWorthRepeating, sparesConnection, toStoreError } from './failures.ts'

/** How often a transaction that was chosen to end a deadlock is begun again. */
const MAX_REPETITIONS = 5

export interface ConnectionsOptions {
  /** What messages call the database. */
  readonly place: string
  readonly pool: () => Promise<Pool>
  /** How long one call may take, in ms. */
  readonly timeoutMs: number
}

/** A client with what the type declarations of `pg` leave out. */
interface Client extends PoolClient {
  ref(): void
  unref(): void
}

/**
 * The ways to the database. What keeps claimed work alive (commits, heartbeats) has a connection of its own, which
 * is never given back: were the pool used up by others, above all by the steps that wait to be committed, nothing could
 * be finished. All else takes a connection from the pool for the time of one call. No transaction outlasts a
 * call, so any pooler may stand between.
 */
export class Connections {
  readonly #options: ConnectionsOptions
  #kept: Client | null = null
  /** Settles when the calls before are done with the kept connection. */
  #turn: Promise<unknown> = Promise.resolve()
  #closed = false
  #calls = new Set<Promise<unknown>>()

  constructor(options: ConnectionsOptions) {
    this.#options = options
  }

  /**
   * Makes one call on the kept connection; calls that wait there are carried out in their order. `timeoutMs`: for a call
   * that must be answered sooner than others.
   */
  critical<Row extends QueryResultRow>(query: QueryConfig, timeoutMs?: number): Promise<readonly Row[]> {
    return this.#tracked(() =>
      this.#repeatedly(async () => {
        // Of a single connection none can be kept.
        const alone = (await this.#options.pool()).options.max === 1
        return await (alone ? this.#onAny<Row>(query) : this.#onKept<Row>(query, timeoutMs))
      }),
    )
  }

  /** Makes one call on any connection. */
  query<Row extends QueryResultRow>(query: QueryConfig): Promise<readonly Row[]> {
    return this.#tracked(() => this.#repeatedly(() => this.#onAny<Row>(query)))
  }

  /** Makes several calls on one connection, e.g. those of a transaction. */
  session<Result>(body: (client: PoolClient) => Promise<Result>): Promise<Result> {
    return this.#tracked(() => this.#repeatedly(() => this.#borrow(body)))
  }

  /** Waits for the calls that are under way, and gives the kept connection back. Later calls reject. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled(this.#calls)
    // Whoever gets it next from the pool counts on it to keep the process alive.
    this.#kept?.ref()
    this.#kept?.release()
    this.#kept = null
  }

  #tracked<Result>(call: () => Promise<Result>): Promise<Result> {
    const { place } = this.#options
    if (this.#closed) {
      const message = `The store ${place} is closed. Create a new one to go on.`
      return Promise.reject(new StoreError('unavailable', message))
    }
    const result = call().catch((error: unknown) => {
      throw toStoreError(error, place)
    })
    this.#calls.add(result)
    const done = (): void => void this.#calls.delete(result)
    result.then(done, done)
    return result
  }

  async #repeatedly<Result>(call: () => Promise<Result>): Promise<Result> {
    for (let repetition = 0; ; repetition++) {
      try {
        return await call()
      } catch (error) {
        if (!isWorthRepeating(error) || repetition === MAX_REPETITIONS) throw error
      }
    }
  }

  /** One call at a time, for a connection does not carry out two at once. */
  #onKept<Row extends QueryResultRow>(query: QueryConfig, timeoutMs?: number): Promise<readonly Row[]> {
    const call = this.#turn.then(() => this.#onKeptNow<Row>(query, timeoutMs))
    this.#turn = call.catch(() => {})
    return call
  }

  async #onKeptNow<Row extends QueryResultRow>(
    query: QueryConfig,
    timeoutMs: number = Number.POSITIVE_INFINITY,
  ): Promise<readonly Row[]> {
    // Every client has the methods that are not declared.
    this.#kept ??= (await this.#connect()) as Client
    const client = this.#kept
    client.ref()
    try {
      const { rows } = await inTime(client.query<Row>(query), Math.min(timeoutMs, this.#options.timeoutMs))
      return rows
    } catch (error) {
      if (!sparesConnection(error)) {
        this.#kept = null
        client.release(true)
      }
      throw error
    } finally {
      // An idle store keeps no process alive.
      client.unref()
    }
  }

  async #onAny<Row extends QueryResultRow>(query: QueryConfig): Promise<readonly Row[]> {
    const { rows } = await this.#borrow((client) => client.query<Row>(query))
    return rows
  }

  async #borrow<Result>(body: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#connect()
    try {
      const result = await inTime(body(client), this.#options.timeoutMs)
      client.release()
      return result
    } catch (error) {
      client.release(!sparesConnection(error))
      throw error
    }
  }

  async #connect(): Promise<PoolClient> {
    const pool = await this.#options.pool()
    const connecting = pool.connect()
    try {
      const client = await inTime(connecting, this.#options.timeoutMs)
      hearErrors(client)
      return client
    } catch (error) {
      // One that comes after all is not kept from the others.
      connecting.then(
        (client) => client.release(),
        () => {},
      )
      throw error
    }
  }
}

/** A call that gets no answer is given up; its connection must not be used again, for the answer may still come. */
async function inTime<Result>(call: Promise<Result>, timeoutMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const giveUp = (): void => reject(new Error(`no answer within ${timeoutMs} ms`))
    // After a look at what has arrived: a process that was frozen finds the timer due and the answer there.
    timer = setTimeout(() => setImmediate(giveUp), timeoutMs)
  })
  try {
    return await Promise.race([call, late])
  } finally {
    clearTimeout(timer)
  }
}
