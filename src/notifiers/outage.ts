import { describe } from '../core/describe.ts'
import type { Log } from '../ports/environment.ts'

/** Tells of trouble once, and again only after it was over in between, and not too often even then. */
export class Outage {
  readonly #message: string
  readonly #log: () => Pick<Log, 'warn'> | null
  readonly #quietMs: number
  #isOn = false
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(message: string, log: () => Pick<Log, 'warn'> | null, quietMs: number) {
    this.#message = message
    this.#log = log
    this.#quietMs = quietMs
  }

  failed(error?: unknown): void {
    const now = performance.now()
    if (this.#isOn || now - this.#toldAt < this.#quietMs) return
    this.#isOn = true
    this.#toldAt = now
    try {
      this.#log()?.warn(this.#message, error === undefined ? {} : { error: describe(error) })
    } catch {
      // A log of the user's may throw; there is nowhere left to say so.
    }
  }

  over(): void {
    this.#isOn = false
  }
}
