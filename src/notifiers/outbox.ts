import type { Hint } from '../ports/notifier.ts'
import { encode, HintBatch } from './hints.ts'
import type { Outage } from './outage.ts'
import { atMost, Backoff, Pause, type Timings } from './time.ts'

export interface OutboxOptions {
  readonly sender: string
  /** Sends messages; must come to an end by itself. */
  readonly send: (messages: readonly string[]) => Promise<void>
  readonly outage: Outage
  readonly timings: Timings
}

/**
 * Hints to be sent. Those of one turn of the event loop are merged, and so are those that come while others are being
 * sent: at most one call is under way. What cannot be sent is dropped; then there is a pause.
 */
export class Outbox {
  readonly #options: OutboxOptions
  readonly #backoff: Backoff
  readonly #pause = new Pause()
  #gathered = new HintBatch()
  #draining: Promise<void> | null = null
  #closed = false

  constructor(options: OutboxOptions) {
    this.#options = options
    this.#backoff = new Backoff(options.timings)
  }

  add(hints: readonly Hint[]): void {
    if (this.#closed) return
    this.#gathered.add(hints)
    if (!this.#gathered.isEmpty) this.#draining ??= this.#drain()
  }

  /** Waits a moment for what is to be sent, unless it cannot be sent now anyway. */
  async flush(): Promise<void> {
    if (this.#draining !== null && !this.#pause.isOn) {
      await atMost(this.#draining, this.#options.timings.farewell)
    }
  }

  async close(): Promise<void> {
    await this.flush()
    this.#closed = true
    this.#gathered = new HintBatch()
    this.#pause.cut()
  }

  async #drain(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    while (!this.#gathered.isEmpty) {
      const batch = this.#gathered
      this.#gathered = new HintBatch()
      await this.#send(batch)
    }
    this.#draining = null
  }

  async #send(batch: HintBatch): Promise<void> {
    const { sender, send, outage } = this.#options
    try {
      await send(encode(sender, batch))
      outage.over()
      this.#backoff.reset()
    } catch (error) {
      if (this.#closed) return
      outage.failed(error)
      await this.#pause.sleep(this.#backoff.next())
    }
  }
}
