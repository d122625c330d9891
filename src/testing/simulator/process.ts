import type { Environment } from '../../ports/environment.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { Tracer } from './tracer.ts'

export interface ProcessOptions {
  readonly name: string
  readonly time: VirtualTime
  readonly tracer: Tracer
  /** Makes its ids and random numbers its own. */
  readonly seed: string
  /** How far its clock is off, in ms. */
  readonly skew: number
}

/** More turns at one instant are a loop that does not end. */
const MAX_TURNS = 5000

/**
 * A process that can die and freeze. All that reaches its code from outside goes through it: timers, and answers of the
 * store. A frozen process gets them when it is thawed, a dead one never.
 */
export class Process {
  readonly name: string
  readonly env: Environment
  readonly #tracer: Tracer
  readonly #time: VirtualTime
  #state: 'up' | 'frozen' | 'down' = 'up'
  #held: { readonly kind: 'timer' | 'answer'; readonly callback: () => void }[] = []
  #instant = 0
  #turns = 0

  constructor({ name, time, tracer, seed, skew }: ProcessOptions) {
    this.name = name
    this.#tracer = tracer
    this.#time = time
    const world = time.environment({ seed, skew })
    this.env = {
      ...world,
      setTimer: (delayMs, callback, options) => {
        let cancelled = false
        const cancel = world.setTimer(
          delayMs,
          // A timer that fired while the process was frozen can still be cleared when it goes on.
          () => this.#arrive('timer', () => (cancelled ? undefined : callback())),
          options,
        )
        return () => {
          cancelled = true
          cancel()
        }
      },
      settled: (callback) => world.settled(() => (this.#mayGoOn() ? callback() : undefined)),
    }
    this.#happened('started')
  }

  get isUp(): boolean {
    return this.#state === 'up'
  }

  get isDown(): boolean {
    return this.#state === 'down'
  }

  /** Gives an answer to this process: now, when it is thawed, or never. */
  reach(callback: () => void): void {
    this.#arrive('answer', callback)
  }

  /** All its calls and timers stop for ever. */
  crash(): void {
    if (this.#state === 'down') return
    this.#happened('crashed')
    this.#stop()
  }

  /** Says that an orderly shutdown has begun. */
  closing(): void {
    this.#happened('closing')
  }

  /** The end of an orderly shutdown. */
  closed(): void {
    if (this.#state === 'down') return
    this.#happened('closed')
    this.#stop()
  }

  freeze(): void {
    if (this.#state !== 'up') return
    this.#happened('frozen')
    this.#state = 'frozen'
  }

  /**
   * Goes on with all that was held back, each in a turn of its own, as after SIGCONT. Sometimes the answers come first,
   * so that a zombie acts on them before its timers tell it that its lease is over.
   */
  thaw(): void {
    if (this.#state !== 'frozen') return
    this.#happened('thawed')
    this.#state = 'up'
    const world = this.#time.environment()
    const held = this.#held.splice(0)
    const first = this.env.random('thaw') < 0.5 ? held.filter(({ kind }) => kind === 'answer') : []
    for (const { kind, callback } of [...first, ...held.filter((each) => !first.includes(each))]) {
      world.setTimer(0, () => this.#arrive(kind, callback))
    }
  }

  #arrive(kind: 'timer' | 'answer', callback: () => void): void {
    if (this.#state === 'frozen') this.#held.push({ kind, callback })
    else if (this.#state === 'up' && this.#mayGoOn()) callback()
  }

  /** Ends a process that does more and more at one instant: virtual time would stand still for ever. */
  #mayGoOn(): boolean {
    this.#turns = this.#instant === this.#time.now ? this.#turns + 1 : 0
    this.#instant = this.#time.now
    if (this.#turns > MAX_TURNS && this.#state !== 'down') {
      this.#tracer.add({ type: 'unhandled', process: this.name, error: 'the process spins' })
      this.crash()
    }
    return this.#state !== 'down'
  }

  #stop(): void {
    this.#state = 'down'
    this.#held = []
  }

  #happened(what: 'started' | 'crashed' | 'frozen' | 'thawed' | 'closing' | 'closed'): void {
    this.#tracer.add({ type: 'process', process: this.name, what })
  }
}
