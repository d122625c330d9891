import type { Player } from './player.ts'
import type { VirtualTime } from './virtual-time.ts'

export interface PacerOptions {
  readonly time: VirtualTime
  readonly players: () => readonly Player[]
  /** A time at which the test itself has something to do. */
  readonly appointment?: () => number | null
  /** See `TestEngineOptions.patience`. */
  readonly patience: number
  readonly maxMoves: number
  /** Whether polls and heartbeats must be made at their times, instead of once at the end of each leap. */
  readonly exact: boolean
  /** What was found to wait for virtual time. Shared, it spares further runs of the same workflow the wait. */
  readonly waitsForTime?: Set<string>
}

/** How long to go on. */
interface Goal {
  /** Looked at whenever all is quiet. */
  readonly reached: () => boolean | Promise<boolean>
  /** Time does not move beyond it. */
  readonly horizon: number
}

/** A store that does not answer for so long, in real ms, never will. */
const STORE_PATIENCE_MS = 30_000
/** Nor is a body given up before so many turns of the event loop, however busy the machine is. */
const MIN_TURNS = 20
/** Moves without any effect after which a due run is taken to be left alone on purpose, e.g. for lack of room. */
const MAX_FRUITLESS_MOVES = 50
/** How many generations of timers are followed that were set while nothing happened. */
const MAX_RENEWALS = 3

/**
 * Moves virtual time on for engines under test: whenever all that can happen now has happened, to what is due next.
 *
 * Two clocks meet here. What the engines do by themselves needs only promise reactions; a store in a thread, or a
 * step body that talks to a real service, needs real time, and must not be overtaken by virtual time.
 */
export class Pacer {
  readonly #options: PacerOptions
  readonly #waitsForTime: Set<string>
  #progress = -1
  /** Timers beyond it were set while nothing happened: perhaps by polls, which would be followed for ever. */
  #lastTimer = Number.NEGATIVE_INFINITY
  #renewals = 0
  #fruitless = 0

  constructor(options: PacerOptions) {
    this.#options = options
    this.#waitsForTime = options.waitsForTime ?? new Set()
  }

  /** Goes on until nothing is due any more. */
  async untilIdle(): Promise<void> {
    await this.#go({ reached: () => false, horizon: Number.POSITIVE_INFINITY })
  }

  /** Goes on until `reached` says so, or nothing is due any more. */
  async until(reached: () => boolean | Promise<boolean>): Promise<void> {
    await this.#go({ reached, horizon: Number.POSITIVE_INFINITY })
  }

  /** Goes on until a promise is settled. Rejects if that cannot happen any more. */
  async untilSettled<Value>(promise: Promise<Value>): Promise<Value> {
    let settled = false
    const settle = (): void => {
      settled = true
    }
    promise.then(settle, settle)
    await this.until(() => settled)
    await this.#wait(() => settled)
    if (settled) return await promise
    throw new Error(
      'Nothing more can happen, and what the test waits for has not: no run is due, no timer is set. Does the run ' +
        'wait for an event or an operator?',
    )
  }

  /** Moves time on to `at`, with everything that is due on the way. */
  async advanceTo(at: number): Promise<void> {
    await this.#go({ reached: () => false, horizon: at })
    await this.#moveTo(at)
    await this.quiet()
  }

  /** Waits until nothing goes on that could go on without virtual time. */
  async quiet(): Promise<void> {
    let seen = -1
    let turns = 0
    let since = performance.now()
    for (;;) {
      await this.#options.time.settle()
      const { calls, progress, open } = this.#look()
      if (progress === seen) turns += 1
      else [seen, turns, since] = [progress, 0, performance.now()]
      const waited = performance.now() - since
      if (calls > 0) {
        if (waited < STORE_PATIENCE_MS) continue
        throw new Error(`The store has not answered for ${STORE_PATIENCE_MS} ms of real time.`)
      }
      if (open.length === 0) return
      if (waited < this.#options.patience || turns < MIN_TURNS) continue
      for (const name of open) this.#waitsForTime.add(name)
      return
    }
  }

  async #go({ reached, horizon }: Goal): Promise<void> {
    // Moves on in time after which nothing happened come to an end by themselves.
    for (let moves = 0; ; ) {
      await this.quiet()
      if (await reached()) return
      const happened = this.#noteProgress()
      const next = await this.#next()
      if (next === null || next > horizon) return
      if (happened || next <= this.#options.time.now) moves += 1
      if (moves > this.#options.maxMoves) {
        throw new Error(
          `This never comes to an end: time was moved on ${moves} times, to ${new Date(next).toISOString()}, and ` +
            'still something is due. Does a workflow or its test repeat itself without end? If it is just long, ' +
            'raise `maxMoves`.',
        )
      }
      await this.#moveTo(next)
    }
  }

  /** When something is due next; `null` if nothing is, but for polls. */
  async #next(): Promise<number | null> {
    const { time, players, appointment } = this.#options
    const any = time.next({ background: true })
    if (any !== null && any <= time.now) return any
    const due = earliest(await Promise.all(players().map((player) => player.nextDue())))
    if (due !== null && due <= time.now && this.#fruitless < MAX_FRUITLESS_MOVES) {
      // Due, and not taken: a poll will find it.
      this.#fruitless += 1
      return any
    }
    const future = due !== null && due > time.now ? due : null
    return earliest([future, appointment?.() ?? null, this.#nextTimer()])
  }

  /** The next timer that is followed. */
  #nextTimer(): number | null {
    const timer = this.#options.time.next({ background: false })
    if (timer === null || timer <= this.#lastTimer) return timer
    if (this.#renewals === MAX_RENEWALS) return null
    this.#renewals += 1
    this.#followTimers()
    return timer
  }

  #followTimers(): void {
    this.#lastTimer = this.#options.time.last({ background: false }) ?? Number.NEGATIVE_INFINITY
  }

  /** Whether anything has happened since the last time. */
  #noteProgress(): boolean {
    const { progress } = this.#look()
    if (progress === this.#progress) return false
    this.#progress = progress
    this.#fruitless = 0
    this.#renewals = 0
    this.#followTimers()
    return true
  }

  #look(): { calls: number; progress: number; open: string[] } {
    let calls = 0
    let progress = 0
    const open: string[] = []
    for (const { activity } of this.#options.players()) {
      calls += activity.calls
      progress += activity.progress
      for (const name of activity.open()) if (!this.#waitsForTime.has(name)) open.push(name)
    }
    return { calls, progress, open }
  }

  async #moveTo(at: number): Promise<void> {
    const { time, exact } = this.#options
    if (!exact) return await time.leapTo(at)
    for (;;) {
      const timer = time.next({ background: true })
      if (timer === null || timer > at) return await time.advanceTo(at)
      await time.advanceTo(timer)
      await this.quiet()
    }
  }

  /** Waits in real time, within the patience. */
  async #wait(over: () => boolean): Promise<void> {
    const start = performance.now()
    for (let turn = 0; !over(); turn += 1) {
      if (turn >= MIN_TURNS && performance.now() - start >= this.#options.patience) return
      await this.#options.time.settle()
    }
  }
}

function earliest(times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null)
  return known.length === 0 ? null : Math.min(...known)
}
