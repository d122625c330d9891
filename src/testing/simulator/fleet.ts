import type { Engine } from '../../engine/api.ts'
import { createEngine } from '../../engine/engine.ts'
import type { Store } from '../../ports/store.ts'
import { MemoryData, memory } from '../../stores/memory/index.ts'
import type { VirtualTime } from '../virtual-time.ts'
import { Bodies } from './bodies.ts'
import { Dice } from './dice.ts'
import type { Faults } from './faults.ts'
import { HintBus } from './hints.ts'
import { Network } from './network.ts'
import { Process } from './process.ts'
import { Recorder } from './recorder.ts'
import type { Tracer } from './tracer.ts'
import { catalogue } from './workflows.ts'

/** Changes what a process sees of the store, e.g. to break it on purpose. */
export type StoreWrapper = (store: Store, data: MemoryData) => Store

export interface FleetOptions {
  readonly seed: string
  readonly time: VirtualTime
  readonly tracer: Tracer
  readonly faults: () => Faults
  readonly wrapStore: StoreWrapper | undefined
  /** How long leases last, in ms. */
  readonly leaseMs: number
}

/** A process with the engine that it runs. */
export interface Member {
  readonly process: Process
  readonly engine: Engine
}

/** All processes of a simulation, on one store. */
export class Fleet {
  readonly data = new MemoryData()
  readonly #options: FleetOptions
  readonly #network: Network
  readonly #hints: HintBus
  readonly #dice: Dice
  /** The present process of each place. */
  readonly #members = new Map<string, Member>()
  readonly #starts = new Map<string, number>()

  constructor(options: FleetOptions) {
    this.#options = options
    const { seed, time, faults } = options
    this.#network = new Network({ time, faults, dice: new Dice(`${seed} network`) })
    this.#hints = new HintBus(time, new Dice(`${seed} hints`), faults)
    this.#dice = new Dice(`${seed} fleet`)
  }

  /** Those that are up. */
  get up(): readonly Member[] {
    return [...this.#members.values()].filter(({ process }) => process.isUp)
  }

  /** The present process of a place. */
  at(place: string): Member | undefined {
    return this.#members.get(place)
  }

  /** Starts the process of a place, or does nothing if it runs; under a new name after every end. */
  start(place: string, { works }: { readonly works: boolean }): void {
    const current = this.#members.get(place)
    if (current !== undefined && !current.process.isDown) return
    const count = (this.#starts.get(place) ?? 0) + 1
    this.#starts.set(place, count)
    const { time, tracer, seed, faults } = this.#options
    const name = `${place}.${count}`
    const { skewMs } = faults()
    const skew = Math.round((this.#dice.next() * 2 - 1) * skewMs)
    const process = new Process({ name, time, tracer, skew, seed: `${seed} ${name}` })
    const member = { process, engine: this.#engine(process) }
    this.#members.set(place, member)
    if (works) void this.#work(member)
  }

  /** Shuts a process down in an orderly way. */
  async close({ process, engine }: Member, timeoutMs: number): Promise<void> {
    process.closing()
    await engine.close({ timeout: timeoutMs })
    process.closed()
  }

  async #work({ process, engine }: Member): Promise<void> {
    const concurrency = this.#dice.int(2, 8)
    for (;;) {
      try {
        return await engine.work({ concurrency })
      } catch {
        // The store cannot be reached: a process would exit and be started again, or try again itself.
        await new Promise<void>((resolve) => process.env.setTimer(500, resolve))
        if (this.#isClosing(process)) return
      }
    }
  }

  #isClosing(process: Process): boolean {
    return this.#options.tracer.trace.some((event) => {
      return event.type === 'process' && event.process === process.name && event.what === 'closing'
    })
  }

  #engine(process: Process): Engine {
    const { tracer, wrapStore, leaseMs, seed } = this.#options
    const { data } = this
    const plain = memory({ data })
    const store = wrapStore === undefined ? plain : wrapStore(plain, data)
    const recorder = new Recorder({ store, data, tracer, process: process.name })
    const bodies = new Bodies(process, tracer, new Dice(`${seed} bodies ${process.name}`))
    return createEngine({
      store: this.#network.storeFor(process, recorder, store),
      ...catalogue(bodies),
      notifier: this.#hints.notifierFor(process),
      environment: process.env,
      observer: (event) => {
        tracer.add({ ...event, process: process.name })
        bodies.observe(event)
      },
      lease: leaseMs,
      pollInterval: '2s',
      hotRuns: this.#dice.pick(0, 3, 1000),
      maxDeaths: 5,
      abortGrace: '1s',
    })
  }
}
