import { randomBytes } from 'node:crypto'
import type { Log } from '../ports/environment.ts'
import type { Hint } from '../ports/notifier.ts'
import { Audience, type Listener } from './audience.ts'
import { decode, encodeEmpty } from './hints.ts'
import { type Hooks, Link, type Session } from './link.ts'
import { Outage } from './outage.ts'
import { Outbox } from './outbox.ts'
import type { Timings } from './time.ts'

/** A service that carries messages. */
export interface Carrier {
  /** What messages of the log call it, e.g. `PostgreSQL`. */
  readonly name: string
  /** Sends messages to all that listen. Rejects if that takes too long. */
  send(messages: readonly string[]): Promise<void>
  /** A new connection that listens, not started yet. */
  listen(hooks: Hooks): Session
  /** What to tell when one can listen, but hears nothing; `null` if that cannot be. */
  readonly deafness: string | null
}

export interface ExchangeOptions {
  readonly carrier: Carrier
  readonly log: () => Pick<Log, 'warn'> | null
  readonly timings: Timings
}

/**
 * Passes hints on between the subscribers of this process, which hear of them at once, and those of other processes. It
 * listens as long as there is a subscriber.
 */
export class Exchange {
  readonly #options: ExchangeOptions
  readonly #sender = randomBytes(9).toString('base64url')
  readonly #audience = new Audience()
  readonly #outbox: Outbox
  readonly #listening: Outage
  readonly #deafness: Outage
  #link: Link | null = null
  /** Settles when no earlier link is left. */
  #stopping: Promise<void> = Promise.resolve()
  #closed = false

  constructor(options: ExchangeOptions) {
    const { carrier, log, timings } = options
    const outage = (message: string): Outage => new Outage(message, log, timings.quiet)
    this.#options = options
    this.#listening = outage(
      `listening for hints over ${carrier.name} failed; trying again, workers poll meanwhile`,
    )
    this.#deafness = outage(carrier.deafness ?? '')
    this.#outbox = new Outbox({
      sender: this.#sender,
      send: (messages) => carrier.send(messages),
      outage: outage(`sending hints over ${carrier.name} failed; other workers find the work when they poll`),
      timings,
    })
  }

  publish(hints: readonly Hint[]): void {
    if (this.#closed) return
    this.#audience.tell(hints)
    this.#outbox.add(hints)
  }

  subscribe(listener: Listener): () => void {
    if (this.#closed) return () => {}
    const remove = this.#audience.add(listener)
    this.#link ??= this.#connect()
    return () => {
      remove()
      if (this.#audience.isEmpty) this.#disconnect()
    }
  }

  /** Waits, not for long, until hints are sent and connections that nobody needs any more are closed. */
  async settle(): Promise<void> {
    await Promise.all([this.#outbox.flush(), this.#stopping])
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#audience.clear()
    this.#disconnect()
    await Promise.all([this.#outbox.close(), this.#stopping])
  }

  #connect(): Link {
    const { carrier, timings } = this.#options
    return new Link({
      open: (hooks) => carrier.listen(hooks),
      onHeard: (text) => this.#heard(text),
      onListening: () => this.#audience.tell([{ kind: 'due', at: 0 }]),
      trial: carrier.deafness === null ? null : () => carrier.send([encodeEmpty(this.#sender)]),
      outage: this.#listening,
      deafness: this.#deafness,
      timings,
    })
  }

  #disconnect(): void {
    const link = this.#link
    if (link === null) return
    this.#link = null
    this.#stopping = Promise.all([this.#stopping, link.stop()]).then(() => {})
  }

  #heard(text: string): void {
    const message = decode(text)
    // Subscribers of this process have heard of its own at once.
    if (message !== null && message.sender !== this.#sender) this.#audience.tell(message.hints)
  }
}
