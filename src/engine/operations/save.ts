import { ClaimLostError } from '../../core/errors.ts'
import type { Entry } from '../../core/run.ts'
import type { ExecutionHost } from '../host.ts'
import { BaseOperation } from './base.ts'

/**
 * `run.save` between steps. It resolves when its values are durable, in its place among all outcomes; on a replay,
 * in the same place, without being written again.
 */
export class Save extends BaseOperation<void> {
  readonly #entries: readonly Entry[]
  readonly #applied: () => void
  #begun = false

  constructor(host: ExecutionHost, key: string, entries: readonly Entry[], applied: () => void) {
    super(host, { key, kind: 'checkpoint', target: null })
    this.#entries = entries
    this.#applied = applied
    this.phase = 'ready'
  }

  proceed(): void {
    if (this.#begun) return
    this.#begun = true
    this.phase = 'busy'
    for (const entry of this.#entries) this.host.record(entry)
    this.host.whenDurable(() => {
      this.phase = 'offered'
      this.#applied()
      this.host.offer({ operation: this, entry: null, consumed: [] })
    })
  }

  /** Resolves in its recorded place. */
  replayed(): void {
    this.#begun = true
    this.resolve()
  }

  override settle(): void {
    this.resolve()
  }

  override abandon(reason: unknown): void {
    // Whoever saves must learn that it was not saved, and stop.
    this.reject(reason instanceof ClaimLostError ? reason : new ClaimLostError(String(reason)))
  }
}
