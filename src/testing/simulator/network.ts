import { StoreError } from '../../core/errors.ts'
import type { Store } from '../../ports/store.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { Dice } from './dice.ts'
import type { Faults } from './faults.ts'
import type { Process } from './process.ts'
import type { Recorder } from './recorder.ts'

export interface NetworkOptions {
  readonly time: VirtualTime
  readonly dice: Dice
  /** What goes wrong at the moment. */
  readonly faults: () => Faults
}

/** What happens to one call. */
interface Fate {
  readonly kind: 'ok' | 'fails-before' | 'answer-lost' | 'twice' | 'dies-before' | 'dies-after'
  /** How long the call is on its way to the store, in ms. */
  readonly there: number
  readonly back: number
}

/** The way between processes and the store, where calls get lost. */
export class Network {
  readonly #options: NetworkOptions

  constructor(options: NetworkOptions) {
    this.#options = options
  }

  /** The store as a process sees it: `recorder` does what changes runs, `store` the rest. */
  storeFor(process: Process, recorder: Recorder, store: Store): Store {
    const call = <Answer>(apply: () => Promise<Answer>, repeatable = false): Promise<Answer> => {
      return this.#call(process, apply, repeatable)
    }
    return {
      name: store.name,
      migrate: () => call(() => store.migrate()),
      commit: (writes, now) => call(() => recorder.commit(writes, now), true),
      claim: (request) => call(() => recorder.claim(request)),
      journal: (runIds, options) => call(() => store.journal(runIds, options)),
      heartbeat: (worker, now) => call(() => store.heartbeat(worker, now), true),
      reap: (now, limit) => call(() => recorder.reap(now, limit)),
      nextDue: (request) => call(() => store.nextDue(request)),
      getRun: (id) => call(() => store.getRun(id)),
      listRuns: (filter) => call(() => store.listRuns(filter)),
      stats: () => call(() => store.stats()),
      prune: (now, limit) => call(() => recorder.prune(now, limit)),
      close: async () => {},
    }
  }

  #call<Answer>(process: Process, apply: () => Promise<Answer>, repeatable: boolean): Promise<Answer> {
    const { time } = this.#options
    const world = time.environment()
    const { kind, there, back } = this.#fate(repeatable)
    return new Promise((resolve, reject) => {
      if (process.isDown) return
      if (kind === 'dies-before') return process.crash()
      const answer = (give: () => void): void => {
        world.setTimer(back, () => process.reach(give))
      }
      const fail = (): void => answer(() => reject(new StoreError('unavailable', 'The network failed.')))
      // What is on its way arrives, also when the process freezes or dies meanwhile.
      world.setTimer(there, async () => {
        if (kind === 'fails-before') return fail()
        try {
          const first = await apply()
          const last = kind === 'twice' ? await apply() : first
          if (kind === 'dies-after') process.crash()
          else if (kind === 'answer-lost') fail()
          else answer(() => resolve(last))
        } catch (error) {
          answer(() => reject(error))
        }
      })
    })
  }

  #fate(repeatable: boolean): Fate {
    const { dice, faults } = this.#options
    const { failsBefore, answerLost, appliedTwice, diesAtCall, slow, slowMs } = faults()
    const leg = (): number => (dice.chance(slow) ? dice.int(1, Math.ceil(slowMs)) : dice.int(0, 3))
    const [there, back] = [leg(), leg()]
    if (dice.chance(diesAtCall)) return { kind: dice.pick('dies-before', 'dies-after'), there, back }
    if (dice.chance(failsBefore)) return { kind: 'fails-before', there, back }
    if (dice.chance(answerLost)) return { kind: 'answer-lost', there, back }
    if (repeatable && dice.chance(appliedTwice)) return { kind: 'twice', there, back }
    return { kind: 'ok', there, back }
  }
}
