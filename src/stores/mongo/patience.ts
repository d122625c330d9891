import { setTimeout as delay } from 'node:timers/promises'

/** The longest pause before something is tried again because another writer came first, in ms. */
const LONGEST_PAUSE_MS = 50

/** How long a call goes on. What is left of a call that was given up must not go on behind its caller's back. */
export class Patience {
  readonly #timeoutMs: number
  readonly #endsAt: number

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
    this.#endsAt = performance.now() + timeoutMs
  }

  /** What the server is told to spend on a read, in ms. */
  get maxTimeMS(): number {
    return Math.max(1, Math.ceil(this.#endsAt - performance.now()))
  }

  /** @throws Error if the call has taken too long. */
  check(): void {
    if (performance.now() >= this.#endsAt) throw new Error(`no answer within ${this.#timeoutMs} ms`)
  }

  /** To be called before each attempt, the number of which counts from 0: lets writers that met get out of step. */
  async beforeAttempt(attempt: number): Promise<void> {
    this.check()
    if (attempt > 0) await delay(Math.random() * Math.min(2 ** attempt, LONGEST_PAUSE_MS))
  }

  /** Gives up a call that gets no answer. It may be carried out nevertheless. */
  async inTime<Result>(call: Promise<Result>): Promise<Result> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      const giveUp = (): void => reject(new Error(`no answer within ${this.#timeoutMs} ms`))
      timer = setTimeout(giveUp, this.maxTimeMS)
    })
    try {
      return await Promise.race([call, late])
    } finally {
      clearTimeout(timer)
    }
  }
}
