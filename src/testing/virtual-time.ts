import { createHash } from 'node:crypto'
import type { Environment, Log } from '../ports/environment.ts'

interface Timer {
  readonly at: number
  readonly seq: number
  readonly background: boolean
  readonly callback: () => void
}

/** A log that says nothing. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Options of `VirtualTime.environment`. */
export interface VirtualEnvironmentOptions {
  /** Makes ids and random numbers of this environment differ from those of others. Default `''`. */
  readonly seed?: string
  /** How far this environment's clock is ahead of the shared time, in ms. */
  readonly skew?: number
  readonly log?: Log
}

/**
 * Time that moves only when told to. Several environments (workers, clients) may share one; their timers fire in the order
 * of their times, and ties in the order in which they were set, so a test runs the same way every time.
 *
 * @example
 * const time = new VirtualTime()
 * const engine = createEngine({ store: memory(), environment: time.environment() })
 * await time.advance(30 * 24 * 3600 * 1000)
 */
export class VirtualTime {
  #now: number
  #seq = 0
  /** Sorted by time, then by age; a binary insert keeps it so. */
  readonly #timers: Timer[] = []

  /** @param start epoch ms at which time begins. */
  constructor(start = Date.UTC(2030, 0, 1)) {
    this.#now = start
  }

  /** The shared time, epoch ms. */
  get now(): number {
    return this.#now
  }

  /** When the next timer fires; `null` if there is none. Background timers are those of polls and heartbeats. */
  next(options: { readonly background: boolean }): number | null {
    const timer = this.#timers.find((candidate) => options.background || !candidate.background)
    return timer?.at ?? null
  }

  /** When the last timer fires that is set now; `null` if there is none. */
  last(options: { readonly background: boolean }): number | null {
    const timer = this.#timers.findLast((candidate) => options.background || !candidate.background)
    return timer?.at ?? null
  }

  /** An environment of this time. */
  environment({ seed = '', skew = 0, log = silentLog }: VirtualEnvironmentOptions = {}): Environment {
    const used = new Map<string, number>()
    const draw = (scope: string): Buffer => {
      const count = (used.get(scope) ?? 0) + 1
      used.set(scope, count)
      return createHash('sha256')
        .update(JSON.stringify([seed, scope, count]))
        .digest()
    }
    return {
      now: () => this.#now + skew,
      setTimer: (delayMs, callback, options) => this.#set(delayMs, callback, options?.background ?? false),
      keepAlive: () => () => {},
      settled,
      random: (scope) => draw(scope).readUIntBE(0, 6) / 2 ** 48,
      uuid: (scope) => this.#uuid(draw(scope)),
      log,
    }
  }

  /** Lets everything that can happen now happen: all promise reactions, and what follows from them. */
  async settle(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve))
  }

  /** Moves time on by `ms`, firing every timer on the way at its time. */
  async advance(ms: number): Promise<void> {
    await this.advanceTo(this.#now + ms)
  }

  /** Moves time on to `at`, epoch ms. */
  async advanceTo(at: number): Promise<void> {
    await this.settle()
    for (let timer = this.#timers[0]; timer !== undefined && timer.at <= at; timer = this.#timers[0]) {
      this.#timers.shift()
      this.#now = Math.max(this.#now, timer.at)
      timer.callback()
      await this.settle()
    }
    this.#now = Math.max(this.#now, at)
  }

  /**
   * Moves time to `at` in one leap, and only then fires the timers that came due on the way, each once, those of
   * polls and heartbeats last. A month costs no more than a second: the polls of the time in between are not made.
   */
  async leapTo(at: number): Promise<void> {
    await this.settle()
    this.#now = Math.max(this.#now, at)
    for (;;) {
      const index = this.#timers.findIndex((timer) => timer.at > at || !timer.background)
      const timer = this.#timers[index]
      if (timer === undefined || timer.at > at) break
      this.#timers.splice(index, 1)
      timer.callback()
      await this.settle()
    }
    await this.advanceTo(this.#now)
  }

  #set(delayMs: number, callback: () => void, background: boolean): () => void {
    this.#seq += 1
    const timer = { at: this.#now + Math.ceil(Math.max(0, delayMs)), seq: this.#seq, background, callback }
    this.#timers.splice(this.#placeOf(timer), 0, timer)
    return () => {
      const index = this.#timers.indexOf(timer)
      if (index >= 0) this.#timers.splice(index, 1)
    }
  }

  #placeOf(timer: Timer): number {
    let low = 0
    let high = this.#timers.length
    while (low < high) {
      const middle = (low + high) >> 1
      const other = this.#timers[middle]
      if (other !== undefined && other.at <= timer.at) low = middle + 1
      else high = middle
    }
    return low
  }

  /** A UUIDv7 of the virtual time, its random part derived from the scope. */
  #uuid(random: Buffer): string {
    const time = Math.max(0, Math.floor(this.#now)).toString(16).padStart(12, '0').slice(-12)
    const rest = random.toString('hex')
    const variant = ((Number.parseInt(rest[4] ?? '0', 16) & 3) | 8).toString(16)
    return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(1, 4)}-${variant}${rest.slice(5, 8)}-${rest.slice(8, 20)}`
  }
}

/** The same rule as in real processes, without the occasional turn of the event loop. */
function settled(callback: () => void): void {
  queueMicrotask(() => process.nextTick(callback))
}
