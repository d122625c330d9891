import type { Environment } from '../ports/environment.ts'
import { type Repeated, repeat } from './repeat.ts'

const MEASURE_INTERVAL_MS = 30_000
const FIRST_SAMPLES = 3

/** How far a database's clock is ahead of this process's steady one, and by how much that may be wrong. */
interface Offset {
  readonly ms: number
  readonly errorMs: number
}

/**
 * The clock of the database, as this process knows it: machines whose own clocks disagree, or are set while they run,
 * agree on what is due and which lease is over. Between two measurements it goes by the steady clock of the process,
 * which nobody sets.
 */
export class StoreClock {
  readonly #read: () => Promise<number>
  readonly #environment: Environment
  #offset: Offset
  #measuring: Repeated | null = null

  /** `read` asks the database what its clock says, in epoch ms. */
  constructor(environment: Environment, read: () => Promise<number>) {
    this.#read = read
    this.#environment = { ...environment, now: () => this.#now() }
    // The own clock, until the first answer.
    this.#offset = { ms: environment.now() - performance.now(), errorMs: Number.POSITIVE_INFINITY }
  }

  /** The environment that goes by this clock. */
  get environment(): Environment {
    return this.#environment
  }

  /** Measures now, and from then on every thirty seconds until `stop`. Rejects if the database cannot be asked. */
  async start(): Promise<void> {
    for (let sample = 0; sample < FIRST_SAMPLES; sample++) await this.#measure()
    this.#measuring ??= repeat(this.#environment, "reading the store's clock", () => this.#measure(), {
      firstMs: MEASURE_INTERVAL_MS,
      onErrorMs: MEASURE_INTERVAL_MS,
    })
  }

  async stop(): Promise<void> {
    await this.#measuring?.stop()
  }

  #now(): number {
    return Math.floor(this.#offset.ms + performance.now())
  }

  /** The database read its clock somewhere between question and answer: half of that time is the error. */
  async #measure(): Promise<number> {
    const askedAt = performance.now()
    const storeTime = await this.#read()
    const answeredAt = performance.now()
    const errorMs = (answeredAt - askedAt) / 2
    const measured = { ms: storeTime - askedAt - errorMs, errorMs }
    // A slow answer says little; it counts only if it shows that the clock was set, or has drifted.
    const contradicts = Math.abs(measured.ms - this.#offset.ms) > errorMs + this.#offset.errorMs
    if (errorMs <= this.#offset.errorMs || contradicts) this.#offset = measured
    return MEASURE_INTERVAL_MS
  }
}
