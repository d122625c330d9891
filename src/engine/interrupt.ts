import { decodeError, encodeError } from '../core/error-codec.ts'
import type { Entry } from '../core/run.ts'
import { INTERRUPT_KEY } from '../core/step-names.ts'
import { newEntry } from './operations/base.ts'

/** What an interrupt's entry holds. */
interface Recorded {
  /** The operations that were rejected by it. */
  readonly rejected: readonly string[]
  /** Encoded error. */
  readonly error: string
}

/**
 * The one thing that is thrown into a function from outside: a cancel, or the end of its time. It is thrown once,
 * at all that the run waits on at that moment, and recorded in the order of outcomes like any other.
 */
export class Interrupt {
  readonly #epoch: number
  #request: { readonly reason: unknown } | null = null
  #thrown = false

  constructor(epoch: number) {
    this.#epoch = epoch
  }

  /** Whether one was requested, thrown or not. */
  get requested(): boolean {
    return this.#request !== null
  }

  get thrown(): boolean {
    return this.#thrown
  }

  /** The error that is thrown, or `undefined`. */
  get reason(): unknown {
    return this.#request?.reason
  }

  /** The first request counts. */
  request(reason: unknown): void {
    this.#request ??= { reason }
  }

  /** The entry for throwing it at these operations. */
  recordThrow(order: number, rejected: readonly string[], now: number): Entry {
    this.#thrown = true
    const recorded: Recorded = { rejected, error: encodeError(this.reason) }
    const request = { key: INTERRUPT_KEY, kind: 'interrupt', target: null } as const
    const entry = newEntry(request, this.#epoch, now)
    return { ...entry, status: 'failed', order, value: JSON.stringify(recorded), endedAt: now }
  }

  /** Takes over a recorded interrupt. Returns the operations that it rejected. */
  replay(entry: Entry): readonly string[] {
    const recorded: Recorded = JSON.parse(entry.value ?? '')
    this.#request = { reason: decodeError(recorded.error) }
    this.#thrown = true
    return recorded.rejected
  }
}
