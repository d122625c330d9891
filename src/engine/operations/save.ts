import { ClaimLostError } from '../../core/errors.ts'
import type { Entry } from '../../core/run.ts'
import type { Checkpoints } from '../checkpoints.ts'
import type { ExecutionHost } from '../host.ts'
import { BaseOperation } from './base.ts'

/**
 * `run.save` between steps. It resolves when its values are durable, in its place among all outcomes; on a replay in the
 * same place, and without being written again if the store holds these very values.
 */
export class Save extends BaseOperation<void> {
  readonly #entries: readonly Entry[]
  readonly #checkpoints: Checkpoints
  #begun = false

  constructor(host: ExecutionHost, key: string, entries: readonly Entry[], checkpoints: Checkpoints) {
    super(host, { key, kind: 'checkpoint', target: null })
    this.#entries = entries
    this.#checkpoints = checkpoints
    this.phase = 'ready'
  }

  /** Whether nothing is left to do but to resolve. */
  get isDone(): boolean {
    return this.phase === 'offered' || this.#checkpoints.hold(this.#entries)
  }

  proceed(): void {
    if (this.#begun) return
    this.#begun = true
    this.phase = 'busy'
    for (const entry of this.#entries) this.host.record(entry)
    this.host.whenDurable(() => {
      this.phase = 'offered'
      this.#checkpoints.apply(this.#entries)
      this.host.offer({ operation: this, entry: null, consumed: [] })
    })
  }

  override settle(): void {
    this.resolve()
  }

  override abandon(reason: unknown): void {
    // Whoever saves must learn that it was not saved, and stop.
    this.reject(reason instanceof ClaimLostError ? reason : new ClaimLostError(String(reason)))
  }
}
