import { ClaimLostError } from '../../core/errors.ts'
import type { Entry } from '../../core/run.ts'
import { LAST_SAVE_KEY } from '../../core/step-names.ts'
import type { Checkpoints } from '../checkpoints.ts'
import type { ExecutionHost } from '../host.ts'
import { BaseOperation, newEntry } from './base.ts'

/**
 * `run.save` between steps. It resolves when its values are durable, in its place among all outcomes; on a replay in the
 * same place, and without being written again if the store holds these very values.
 */
export class Save extends BaseOperation<void> {
  readonly #entries: readonly Entry[]
  readonly #checkpoints: Checkpoints
  /** The place in the order that its write says it has; `null` while it says none. */
  place: number | null = null
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
    // What is stored already is not written again: it is no progress either. Unless other values are on their way.
    if (this.host.conductor.isNextSave(this) && !this.host.saving && this.#checkpoints.hold(this.#entries)) {
      this.#offerSaved()
      return
    }
    this.phase = 'busy'
    for (const entry of this.#entries) this.host.record(entry)
    this.place = this.host.conductor.placeOf(this)
    if (this.place !== null) this.host.record(savedHere(this.place, this.host.run.epoch, this.host.env.now()))
    this.host.whenDurable(() => {
      this.#checkpoints.apply(this.#entries)
      this.#offerSaved()
    })
  }

  #offerSaved(): void {
    this.phase = 'offered'
    this.host.offer({ operation: this, entry: null, consumed: [] })
  }

  override settle(): void {
    this.resolve()
  }

  override abandon(reason: unknown): void {
    // Whoever saves must learn that it was not saved, and stop.
    this.reject(reason instanceof ClaimLostError ? reason : new ClaimLostError(String(reason)))
  }
}

/**
 * Marks the place of the newest save in the order of outcomes; those of earlier saves are gaps before it. Written with the
 * values, for the place that the save will have if nothing comes between: so whatever waits for the save waits for it too.
 */
export function savedHere(order: number, epoch: number, now: number): Entry {
  const entry = newEntry({ key: LAST_SAVE_KEY, kind: 'checkpoint', target: null }, epoch, now)
  return { ...entry, status: 'succeeded', order, endedAt: now }
}
