import type { Redis } from 'ioredis'
import { inTime } from '../time.ts'
import { isClient } from './arguments.ts'
import { discard, makeClient } from './clients.ts'
import type { SessionOptions } from './session.ts'

/** Publishes: over the client that the application has, or over a connection of its own. */
export class RedisSender {
  readonly #options: SessionOptions
  #own: Redis | null = null
  #closed = false
  /** What the connection of its own said last. */
  #reason: unknown = null

  constructor(options: SessionOptions) {
    this.#options = options
  }

  async send(messages: readonly string[]): Promise<void> {
    const { server } = this.#options
    if (typeof server === 'object' && isClient(server)) await this.#sendOver(usable(server), messages)
    else await this.#sendAlone(messages)
  }

  close(): void {
    this.#closed = true
    if (this.#own !== null) discard(this.#own)
    this.#own = null
  }

  async #sendAlone(messages: readonly string[]): Promise<void> {
    this.#own ??= await this.#open()
    const client = this.#own
    try {
      await this.#sendOver(client, messages)
    } catch (error) {
      this.#own = null
      discard(client)
      throw this.#reason ?? error
    }
  }

  async #sendOver(client: Redis, messages: readonly string[]): Promise<void> {
    const { channel, timings } = this.#options
    await inTime(Promise.all(messages.map((message) => client.publish(channel, message))), timings.answer)
  }

  async #open(): Promise<Redis> {
    const client = await makeClient(this.#options.server, this.#options.timings)
    if (this.#closed) throw new Error('closed')
    this.#reason = null
    client.on('error', (error) => {
      this.#reason = error
    })
    // Lost while nobody used it: the next message goes over another one.
    client.on('end', () => {
      if (this.#own === client) this.#own = null
    })
    return client
  }
}

/** A client that has lost its connection would keep all messages of an outage until it has one again. */
function usable(client: Redis): Redis {
  if (client.status !== 'reconnecting' && client.status !== 'close' && client.status !== 'end') return client
  throw new Error(`the client is not connected (${client.status})`)
}
