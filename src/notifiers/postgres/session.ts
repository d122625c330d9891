import type { Client, ClientConfig, Pool, PoolConfig } from 'pg'
import type { Hooks, Session } from '../link.ts'
import { atMost, inTime, type Timings } from '../time.ts'
import { listenStatement } from './channel.ts'

export interface SessionOptions {
  readonly pool: () => Promise<Pool>
  readonly channel: string
  readonly timings: Timings
}

/** A client with what the type declarations of `pg` leave out. */
interface ListeningClient extends Client {
  ref(): void
  unref(): void
}

/**
 * A connection that listens. It is none of the pool's, which may be small and in use; and it keeps no process alive.
 */
export class PostgresSession implements Session {
  readonly #options: SessionOptions
  readonly #hooks: Hooks
  #client: ListeningClient | null = null
  /** Whether the connection can be ended in good order. */
  #isUp = false
  #closing: Promise<void> | null = null

  constructor(options: SessionOptions, hooks: Hooks) {
    this.#options = options
    this.#hooks = hooks
  }

  async start(): Promise<void> {
    await inTime(this.#connect(), this.#options.timings.answer, { background: true })
  }

  /** To listen again changes nothing; but if the connection has forgotten that it should, it is told so. */
  async probe(): Promise<void> {
    const { timings } = this.#options
    try {
      await inTime(this.#listen(), timings.answer, { background: true })
    } catch (error) {
      this.#isUp = false
      throw error
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #connect(): Promise<void> {
    const client = await makeClient(await this.#options.pool(), this.#options.timings)
    if (this.#closing !== null) throw new Error('closed')
    this.#client = client
    client.on('error', (error) => this.#lost(error))
    client.on('end', () => this.#lost(new Error('the connection ended')))
    client.on('notification', ({ payload }) => this.#hooks.heard(payload ?? ''))
    const connecting = client.connect()
    client.unref()
    await connecting
    // With TLS it is another socket now.
    client.unref()
    this.#isUp = this.#closing === null
    await this.#listen()
  }

  async #listen(): Promise<void> {
    await this.#client?.query(listenStatement(this.#options.channel))
  }

  #lost(error: Error): void {
    this.#isUp = false
    this.#hooks.lost(error)
  }

  async #close(): Promise<void> {
    const client = this.#client
    if (client === null) return
    if (this.#isUp) {
      // Somebody waits for this: the process must not end before.
      client.ref()
      await atMost(client.end(), this.#options.timings.farewell)
    }
    client.connection.stream.destroy()
  }
}

async function makeClient(pool: Pool, timings: Timings): Promise<ListeningClient> {
  const { default: pg } = await import('pg')
  const options: PoolConfig = pool.options
  const config: ClientConfig = { ...options, keepAlive: true, connectionTimeoutMillis: timings.answer }
  // The pool hides the password from whoever lists its options.
  if (options.password !== undefined) config.password = options.password
  const ClientOfPool = options.Client ?? pg.Client
  // Every client has what is not declared.
  return new ClientOfPool(config) as ListeningClient
}
