/** Lets at most so many callers in at a time; the others wait in line. */
export class Slots {
  #free: number
  readonly #line: (() => void)[] = []

  constructor(size: number) {
    this.#free = size
  }

  /** Calls when a place is free. @throws the signal's reason if it aborted meanwhile: then nothing is called. */
  async use<Value>(signal: AbortSignal, call: () => Value | Promise<Value>): Promise<Value> {
    await this.#enter(signal)
    try {
      signal.throwIfAborted()
      return await call()
    } finally {
      this.#leave()
    }
  }

  /** Whoever is to stop leaves the line at once, and not when its turn has come. */
  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free -= 1
      return
    }
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        this.#line.splice(this.#line.indexOf(enter), 1)
        reject(signal.reason)
      }
      const enter = (): void => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      this.#line.push(enter)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  #leave(): void {
    const next = this.#line.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
