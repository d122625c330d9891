import { EventEmitter, once } from 'node:events'

/**
 * Stands in for a bank, a mailer and so on: a service that knows idempotency keys. What it is asked for again with the
 * same key, it does not do again.
 */
export class FakeService extends EventEmitter {
  readonly #name: string
  readonly #check: (request: string) => void
  readonly #receipts = new Map<string, string>()
  /** What it did, in order. */
  readonly done: string[] = []
  /** How often it was asked. */
  calls = 0

  /** @param check throws for requests that the service refuses */
  constructor(name: string, check: (request: string) => void = () => {}) {
    super()
    this.#name = name
    this.#check = check
  }

  /** Does what is requested, unless it did so before with this key. Returns a receipt, always the same for one key. */
  async call(idempotencyKey: string, request: string): Promise<string> {
    this.calls += 1
    const known = this.#receipts.get(idempotencyKey)
    if (known !== undefined) return known
    this.#check(request)
    const receipt = `${this.#name}-${this.done.push(request)}`
    this.#receipts.set(idempotencyKey, receipt)
    console.log(`  ${this.#name}: ${request}`)
    this.emit('done')
    return receipt
  }

  /** How much of what it did has this text in it. */
  count(text: string): number {
    return this.done.filter((request) => request.includes(text)).length
  }

  /** Waits until it has done something with this text in it. */
  async until(text: string): Promise<void> {
    while (this.count(text) === 0) await once(this, 'done')
  }

  /** Forgets everything. */
  reset(): void {
    this.#receipts.clear()
    this.done.length = 0
    this.calls = 0
  }
}
