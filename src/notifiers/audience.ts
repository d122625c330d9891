import type { Hint } from '../ports/notifier.ts'

export type Listener = (hints: readonly Hint[]) => void

/** The subscribers of this process. */
export class Audience {
  /** One entry per subscription, for the same function may subscribe twice. */
  readonly #entries = new Set<{ readonly listener: Listener }>()

  get isEmpty(): boolean {
    return this.#entries.size === 0
  }

  add(listener: Listener): () => void {
    const entry = { listener }
    this.#entries.add(entry)
    return () => void this.#entries.delete(entry)
  }

  clear(): void {
    this.#entries.clear()
  }

  tell(hints: readonly Hint[]): void {
    if (hints.length === 0) return
    for (const { listener } of this.#entries) {
      try {
        listener(hints)
      } catch {
        // What one of them does with a hint is not the business of the others.
      }
    }
  }
}
