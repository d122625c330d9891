import { addTime } from '../core/duration.ts'
import type { RunRecord } from '../core/run.ts'
import type { Environment } from '../ports/environment.ts'
import type { Store, WorkflowVersion } from '../ports/store.ts'
import { LogSampler } from './log-sampler.ts'

export interface ClaimerOptions {
  readonly store: Store
  readonly env: Environment
  readonly pollInterval: number
  readonly queues: readonly string[] | null
  readonly workflows: () => readonly WorkflowVersion[]
  /** How many runs could start now. */
  readonly free: () => number
  /** The identity to claim under, or `null` while there is none. */
  readonly worker: () => string | null
  readonly onClaimed: (runs: readonly RunRecord[]) => Promise<void>
}

/** The most runs that one claim takes. */
const MAX_CLAIM = 200

/**
 * Takes due runs from the store whenever there is room: when a hint says that something is due, when a slot becomes
 * free while more was due, when the next known due time comes, and at the latest after the poll interval. An idle
 * worker asks the store one cheap question per poll interval.
 */
export class Claimer {
  readonly #options: ClaimerOptions
  #stopped = false
  #looking: Promise<void> | null = null
  #again = false
  /** Whether more may be due than there was room for. */
  #more = false
  #timer: { readonly at: number; readonly cancel: () => void } | null = null
  readonly #outage: LogSampler
  /** Claims in a row that found nothing. */
  #empty = 0

  constructor(options: ClaimerOptions) {
    this.#options = options
    this.#outage = new LogSampler(options.env.log)
  }

  /** Whether a claim is under way whose runs are not known yet. */
  get claiming(): boolean {
    return this.#looking !== null
  }

  /** Something is due at `at`, or will be. */
  hint(at: number): void {
    if (at <= this.#options.env.now()) this.look()
    else this.#arm(at, false)
  }

  /** A slot became free. */
  roomAgain(): void {
    if (this.#more) this.look()
  }

  /** Claims now, or right after the claim that is under way. */
  look(): void {
    if (this.#stopped) return
    this.#again = true
    this.#looking ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#looking
  }

  async #run(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false
      try {
        await this.#claim()
        this.#outage.succeeded()
      } catch (error) {
        this.#failed(error)
      }
    }
    this.#looking = null
  }

  async #claim(): Promise<void> {
    const { store, env, queues, workflows, free, worker, onClaimed } = this.#options
    const limit = Math.min(free(), MAX_CLAIM)
    this.#more = limit <= 0
    const id = worker()
    if (limit <= 0 || id === null) return this.#arm(env.now() + this.#options.pollInterval)
    const runs = await store.claim({ worker: id, workflows: workflows(), queues, limit, now: env.now() })
    this.#empty = runs.length === 0 ? this.#empty + 1 : 0
    if (runs.length > 0) await onClaimed(runs)
    if (runs.length === limit) {
      this.#more = true
      this.#again = free() > 0
      return this.#arm(env.now() + this.#options.pollInterval)
    }
    await this.#armForNext()
  }

  /** Arms the timer for what is due next, after a claim that took all it found. */
  async #armForNext(): Promise<void> {
    const { env, pollInterval } = this.#options
    const next = await this.#nextDue()
    const poll = addTime(env.now(), pollInterval)
    if (next === null || next > env.now())
      this.#rearm(Math.min(next ?? poll, poll), next === null || next > poll)
    // Usually something became due since the claim. If claims find nothing of it, others are faster: no storm.
    else if (this.#empty < 2) this.#again = true
    else this.#rearm(addTime(env.now(), Math.min(pollInterval, 5 * 2 ** this.#empty)), false)
  }

  async #nextDue(): Promise<number | null> {
    const { store, queues, workflows } = this.#options
    return await store.nextDue({ workflows: workflows(), queues })
  }

  /** The poll: asks when the next run is due, and claims if one is. */
  #poll(): void {
    if (this.#stopped || this.#looking !== null) return
    this.#looking = this.#pollOnce()
      .catch((error: unknown) => this.#failed(error))
      .then(() => this.#run())
  }

  async #pollOnce(): Promise<void> {
    const { env, pollInterval } = this.#options
    const next = await this.#nextDue()
    const poll = addTime(env.now(), pollInterval)
    if (next !== null && next <= env.now()) this.#again = true
    else this.#rearm(Math.min(next ?? poll, poll), next === null || next > poll)
  }

  #failed(error: unknown): void {
    const { env, pollInterval } = this.#options
    this.#outage.failed('claiming failed; trying again', error)
    this.#rearm(env.now() + pollInterval * (0.5 + env.random('claim')))
  }

  /** Looks at `at`, unless it is to look earlier. */
  #arm(at: number, background = true): void {
    if (this.#timer === null || at < this.#timer.at) this.#rearm(at, background)
  }

  #rearm(at: number, background = true): void {
    this.#timer?.cancel()
    this.#timer = null
    if (this.#stopped) return
    const { env } = this.#options
    const cancel = env.setTimer(Math.max(0, at - env.now()), () => this.#fired(), { background })
    this.#timer = { at, cancel }
  }

  #fired(): void {
    this.#timer = null
    this.#poll()
  }
}
