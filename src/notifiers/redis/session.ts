import type { Redis } from 'ioredis'
import type { Hooks, Session } from '../link.ts'
import { inTime, type Timings } from '../time.ts'
import type { RedisServer } from './arguments.ts'
import { discard, makeClient } from './clients.ts'

export interface SessionOptions {
  readonly server: RedisServer
  readonly channel: string
  readonly timings: Timings
}

/** A connection that has subscribed to the channel. It keeps no process alive. */
export class RedisSession implements Session {
  readonly #options: SessionOptions
  readonly #hooks: Hooks
  #client: Redis | null = null
  #closed = false
  /** What the client said before it was lost. */
  #reason: unknown = null

  constructor(options: SessionOptions, hooks: Hooks) {
    this.#options = options
    this.#hooks = hooks
  }

  async start(): Promise<void> {
    try {
      await inTime(this.#connect(), this.#options.timings.answer, { background: true })
    } catch (error) {
      throw this.#reason ?? error
    }
  }

  /** To subscribe again changes nothing, and is answered in every mode of a connection. */
  async probe(): Promise<void> {
    await inTime(this.#subscribe(), this.#options.timings.answer, { background: true })
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#client !== null) discard(this.#client)
  }

  async #connect(): Promise<void> {
    const client = await makeClient(this.#options.server, this.#options.timings)
    if (this.#closed) throw new Error('closed')
    this.#client = client
    client.on('error', (error) => {
      this.#reason = error
    })
    client.on('end', () => this.#hooks.lost(this.#reason ?? new Error('the connection ended')))
    client.on('message', (_channel: string, text: string) => this.#hooks.heard(text))
    await client.connect()
    await this.#subscribe()
  }

  async #subscribe(): Promise<void> {
    await this.#client?.subscribe(this.#options.channel)
  }
}
