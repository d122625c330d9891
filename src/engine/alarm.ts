import type { Environment } from '../ports/environment.ts'

/** One timer that can be set to another time. */
export class Alarm {
  readonly #env: Environment
  readonly #ring: () => void
  #at: number | null = null
  #cancel: () => void = () => {}

  constructor(env: Environment, ring: () => void) {
    this.#env = env
    this.#ring = ring
  }

  /** Rings at `at`, epoch ms, and at no other time; never if `null`. */
  set(at: number | null): void {
    if (this.#at === at) return
    this.clear()
    if (at === null) return
    this.#at = at
    this.#cancel = this.#env.setTimer(Math.max(0, at - this.#env.now()), () => {
      this.#at = null
      this.#ring()
    })
  }

  /** The same, unless it is set already. */
  setIfUnset(at: number): void {
    if (this.#at === null) this.set(at)
  }

  clear(): void {
    this.#cancel()
    this.#cancel = () => {}
    this.#at = null
  }
}
