import { decodeValue } from '../core/codec.ts'
import type { Entry } from '../core/run.ts'
import { checkpointKey } from '../core/step-names.ts'

const PREFIX = checkpointKey('')

/** What a run has saved by name: what the journal held at the start, and what was saved since. */
export class Checkpoints {
  readonly #values = new Map<string, string>()

  constructor(entries: readonly Entry[]) {
    this.apply(entries.filter(({ key }) => key.startsWith(PREFIX)))
  }

  /** Takes over values that are durable now. */
  apply(entries: readonly Entry[]): void {
    for (const { key, value } of entries) this.#values.set(key.slice(PREFIX.length), value ?? '')
  }

  /** Whether these values are saved already. */
  hold(entries: readonly Entry[]): boolean {
    return entries.every(({ key, value }) => this.#values.get(key.slice(PREFIX.length)) === value)
  }

  has(name: string): boolean {
    return this.#values.has(name)
  }

  /** Fresh copies: changing them changes nothing here. */
  read(): Readonly<Record<string, unknown>> {
    const values: Record<string, unknown> = {}
    for (const [name, encoded] of this.#values) {
      // A name such as `__proto__` must become a property like any other.
      const property = { value: decodeValue(encoded), enumerable: true, configurable: true, writable: true }
      Object.defineProperty(values, name, property)
    }
    return values
  }
}
