import type { Log } from '../ports/environment.ts'

const LOGGED_FIRST = 3
const LOGGED_EVERY = 50

/** Logs an outage without flooding the log: its first failures, then one in fifty, until something succeeds again. */
export class LogSampler {
  readonly #log: Log
  #failures = 0

  constructor(log: Log) {
    this.#log = log
  }

  failed(message: string, error: unknown): void {
    this.#failures += 1
    if (this.#failures > LOGGED_FIRST && this.#failures % LOGGED_EVERY !== 0) return
    this.#log.warn(message, { error: String(error), failures: this.#failures })
  }

  succeeded(): void {
    this.#failures = 0
  }
}
