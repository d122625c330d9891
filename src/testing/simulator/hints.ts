import type { Hint, Notifier } from '../../ports/notifier.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { Dice } from './dice.ts'
import type { Faults } from './faults.ts'
import type { Process } from './process.ts'

type Listener = (hints: readonly Hint[]) => void

/** Carries hints between the processes of a simulation, and loses, delays and doubles them. */
export class HintBus {
  readonly #time: VirtualTime
  readonly #dice: Dice
  readonly #faults: () => Faults
  readonly #listeners = new Map<Listener, Process>()

  constructor(time: VirtualTime, dice: Dice, faults: () => Faults) {
    this.#time = time
    this.#dice = dice
    this.#faults = faults
  }

  notifierFor(process: Process): Notifier {
    return {
      publish: (hints) => {
        if (process.isDown) return
        for (const [listener, target] of this.#listeners) this.#send(hints, listener, target)
      },
      subscribe: (listener) => {
        this.#listeners.set(listener, process)
        return () => this.#listeners.delete(listener)
      },
      close: async () => {},
    }
  }

  #send(hints: readonly Hint[], listener: Listener, target: Process): void {
    const { hintsLost } = this.#faults()
    const world = this.#time.environment()
    const send = (delayMs: number): void => {
      world.setTimer(delayMs, () => {
        target.reach(() => {
          if (this.#listeners.has(listener)) listener(hints)
        })
      })
    }
    if (target.isDown || this.#dice.chance(hintsLost)) return
    if (this.#dice.chance(hintsLost)) send(this.#dice.int(10, 5000))
    if (this.#dice.chance(hintsLost)) send(this.#dice.int(0, 5))
    send(this.#dice.int(0, 3))
  }
}
