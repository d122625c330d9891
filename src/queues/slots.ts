/** Lets at most so many callers in at a time; the others wait in line. */
export class Slots {
  #free: number
  readonly #line: (() => void)[] = []

  constructor(size: number) {
    this.#free = size
  }

  /** Calls when a place is free. @throws the signal's reason if it aborted meanwhile: then nothing is called. */
  async use<Value>(signal: AbortSignal, call: () => Value | Promise<Value>): Promise<Value> {
    await this.#enter()
    try {
      signal.throwIfAborted()
      return await call()
    } finally {
      this.#leave()
    }
  }

  async #enter(): Promise<void> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#line.push(resolve))
  }

  #leave(): void {
    const next = this.#line.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
