import { checkInvariants, type Trace, type Violation } from '../../core/invariants.ts'
import { isTerminal } from '../../core/run.ts'
import { VirtualTime } from '../virtual-time.ts'
import { Clients } from './clients.ts'
import { Dice } from './dice.ts'
import { ALL_FAULTS, chooseFaults, type Faults, NO_FAULTS } from './faults.ts'
import { Fleet, type StoreWrapper } from './fleet.ts'
import { digestOf } from './report.ts'
import { Tracer } from './tracer.ts'

/** Options of {@link simulate}. */
export interface SimulationOptions {
  /** The same seed gives the same simulation. */
  readonly seed: number
  /** How many worker processes there are. Default 4. */
  readonly workers?: number
  /** What may go wrong at most; each seed chooses from it. Default: all. */
  readonly faults?: Faults
  /** How many runs clients start at most. Default 12. */
  readonly runs?: number
  /** Changes the store that the processes see, to show that the invariants notice it when it is broken. */
  readonly wrapStore?: StoreWrapper
}

/** What {@link simulate} found. */
export interface Simulation {
  readonly seed: number
  readonly trace: Trace
  /** Empty if all invariants hold. */
  readonly violations: readonly Violation[]
  /** Of the whole trace: the same for the same seed. */
  readonly digest: string
}

const LEASE_MS = 6000
/** How long faults happen and clients ask for things. */
const ACTIVE_MS = 45_000
/** How long everything may take to end after that. The longest that a run waits by itself is well below. */
const PATIENCE_MS = 300_000

/**
 * Simulates processes that work on one store while calls get lost, processes die and freeze, and clients and
 * operators interfere; then lets everything heal, runs time on until all runs should have ended, and checks
 * the invariants. Time is virtual, chance is seeded: the same seed gives the same trace.
 *
 * @example
 * const { violations } = await simulate({ seed: 123 })
 */
export async function simulate(options: SimulationOptions): Promise<Simulation> {
  const world = new World(options)
  const unhandled = (error: unknown): void => world.unhandled(error)
  process.on('unhandledRejection', unhandled)
  try {
    await world.run()
  } finally {
    process.off('unhandledRejection', unhandled)
  }
  const { trace } = world.tracer
  return { seed: options.seed, trace, violations: checkInvariants(trace), digest: digestOf(trace) }
}

/** Everything in one simulation. */
class World {
  readonly time = new VirtualTime()
  readonly tracer = new Tracer(this.time)
  readonly #dice: Dice
  readonly #fleet: Fleet
  readonly #clients: Clients
  readonly #places: readonly string[]
  readonly #runs: number
  #faults: Faults
  #nudges = 0

  constructor({ seed, workers = 4, faults = ALL_FAULTS, runs = 12, wrapStore }: SimulationOptions) {
    const name = `seed ${seed}`
    this.#dice = new Dice(name)
    this.#faults = chooseFaults(this.#dice, faults)
    this.#runs = runs
    this.#places = Array.from({ length: workers }, (_, index) => `worker${index + 1}`)
    const current = (): Faults => this.#faults
    const { time, tracer } = this
    this.#fleet = new Fleet({ seed: name, time, tracer, faults: current, wrapStore, leaseMs: LEASE_MS })
    this.#clients = new Clients(this.#fleet, tracer, new Dice(`${name} clients`))
  }

  async run(): Promise<void> {
    for (const place of this.#places) this.#sometime(() => this.#start(place), 1000)
    // A client that does not work: what it starts, others must find.
    this.#fleet.start('client', { works: false })
    this.#plan()
    await this.time.advance(ACTIVE_MS)
    this.#heal()
    await this.#runOut()
    this.tracer.add({ type: 'finished', process: 'world' })
  }

  unhandled(error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.tracer.add({ type: 'unhandled', process: 'world', error: text })
  }

  /** Draws up all that will happen from outside. */
  #plan(): void {
    const dice = this.#dice
    const { crashes, freezes, shutdowns, requests } = this.#faults
    this.#times(dice.int(1, this.#runs), () => this.#clients.start())
    this.#times(dice.int(0, 10), () => this.#clients.sendEvent())
    this.#times(requests, () => this.#clients.request())
    this.#times(crashes, () => this.#fleet.at(this.#somePlace())?.process.crash())
    this.#times(freezes, () => this.#freeze())
    this.#times(shutdowns, () => this.#shutDown())
    // Those that died come back sooner or later.
    for (let at = 3000; at < ACTIVE_MS; at += 3000) {
      this.#in(at, () => {
        for (const place of this.#places) if (dice.chance(0.5)) this.#start(place)
      })
    }
  }

  #freeze(): void {
    const dice = this.#dice
    const process = this.#fleet.at(this.#somePlace())?.process
    process?.freeze()
    const ms = dice.pick(dice.int(10, LEASE_MS), dice.int(LEASE_MS, LEASE_MS * 3))
    this.#in(ms, () => process?.thaw())
  }

  #shutDown(): void {
    const member = this.#fleet.at(this.#somePlace())
    if (member?.process.isUp === true) void this.#fleet.close(member, this.#dice.pick(0, 500, 10_000))
  }

  /** The end of all faults: what froze goes on, what died comes back, though perhaps not everywhere. */
  #heal(): void {
    const dice = this.#dice
    this.#faults = NO_FAULTS
    this.tracer.add({ type: 'healed', process: 'world' })
    for (const place of this.#places) this.#fleet.at(place)?.process.thaw()
    const [first, ...others] = this.#places
    if (first !== undefined) this.#start(first)
    for (const place of others) if (dice.chance(0.6)) this.#start(place)
  }

  /** Lets time run on until all runs have ended, or there is no hope any more. */
  async #runOut(): Promise<void> {
    const until = this.time.now + PATIENCE_MS
    while (this.time.now < until) {
      await this.time.advance(2000)
      // A worker that was closing may be gone only now.
      if (this.#fleet.up.every(({ process }) => process.name.startsWith('client'))) this.#start('worker1')
      const live = Array.from(this.#fleet.data.rows(), ({ run }) => run).filter(
        ({ status }) => !isTerminal(status),
      )
      if (live.length === 0) return
      for (const run of live) this.#nudge(run.id, run.status)
    }
  }

  /** What people do for a run that needs them: resume it, and send what it waits for. */
  #nudge(runId: string, status: string): void {
    this.#nudges += 1
    const row = this.#fleet.data.row(runId)
    // What the engine has paused because of a mismatch would be paused again.
    const isMismatch = row?.run.error?.includes('NON_DETERMINISM') === true
    if (status === 'paused' && !isMismatch) this.#clients.ask('resume', runId)
    const finish = row?.entries.get('finish')
    const isSent = [...(row?.inbox.keys() ?? []), ...(row?.consumed ?? [])].some((id) =>
      id.startsWith('=last'),
    )
    if (finish?.status === 'waiting' && !isSent) this.#clients.event(runId, 'finish', `last-${this.#nudges}`)
  }

  #start(place: string): void {
    this.#fleet.start(place, { works: true })
  }

  #somePlace(): string {
    return this.#dice.from(this.#places) ?? ''
  }

  #times(count: number, act: () => void): void {
    for (let index = 0; index < count; index += 1) this.#sometime(act, ACTIVE_MS)
  }

  #sometime(act: () => void, withinMs: number): void {
    this.#in(this.#dice.int(0, withinMs - 1), act)
  }

  #in(ms: number, act: () => void): void {
    this.time.environment().setTimer(ms, act)
  }
}
