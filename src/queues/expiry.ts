import type { Environment } from '../ports/environment.ts'

/** Forgets things a fixed time after they were added, with one timer for all of them. */
export class Expiry<Item> {
  readonly #env: Environment
  readonly #ms: number
  readonly #forget: (item: Item) => void
  /** By when each is to be forgotten, in the order of adding. */
  readonly #items = new Map<Item, number>()
  #cancelTimer: (() => void) | null = null

  constructor(env: Environment, ms: number, forget: (item: Item) => void) {
    this.#env = env
    this.#ms = ms
    this.#forget = forget
  }

  add(item: Item): void {
    this.#items.delete(item)
    this.#items.set(item, this.#env.now() + this.#ms)
    this.#arm()
  }

  delete(item: Item): void {
    this.#items.delete(item)
  }

  stop(): void {
    this.#items.clear()
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }

  #arm(): void {
    const [next] = this.#items.values()
    if (next === undefined || this.#cancelTimer !== null) return
    const wait = Math.max(0, next - this.#env.now())
    this.#cancelTimer = this.#env.setTimer(wait, () => this.#expire(), { background: true })
  }

  #expire(): void {
    this.#cancelTimer = null
    for (const [item, at] of this.#items) {
      if (at > this.#env.now()) break
      this.#items.delete(item)
      this.#forget(item)
    }
    this.#arm()
  }
}
