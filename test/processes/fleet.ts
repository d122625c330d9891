import { expect } from 'vitest'
import { type Child, type Dice, type Effect, until, type World } from './kit.ts'
import { bodyOf } from './truth.ts'

/** Every so many kills of workers, the client is killed too. */
const CLIENT_EVERY = 8
const LANES = 8
/** About. */
const BYTES_PER_EFFECT = 250

/** The workflows that clients start; the others are their children. */
export const startedWorkflows = ['sequential', 'parallel', 'sleeping', 'family', 'calling']

export interface FleetOptions {
  readonly dice: Dice
  readonly workers: number
  readonly leaseMs: number
  /** By how much the clocks of the workers are wrong, in ms, by number. */
  readonly clocks?: readonly number[]
}

/** The processes, and what they said. */
export class Fleet {
  readonly leaseMs: number
  readonly killed = new Map<number, number>()
  clientKills = 0
  /** Numbers of keys whose start was begun. */
  readonly started = new Set<number>()
  /** Run ids by number of key, for starts that were answered. */
  readonly accepted = new Map<number, string>()
  readonly results = new Map<number, unknown>()
  /** Answers that do not fit an earlier answer. */
  readonly contradictions: string[] = []
  readonly #world: World
  readonly #dice: Dice
  readonly #all: Child[] = []
  readonly #workers: Child[] = []
  #client: Child

  constructor(world: World, { dice, workers, leaseMs, clocks = [] }: FleetOptions) {
    this.#world = world
    this.#dice = dice
    this.leaseMs = leaseMs
    for (let i = 0; i < workers; i++) this.#workers.push(this.#startWorker(clocks[i]))
    this.#client = this.#startClient()
  }

  /** Waits until all processes work. Before, one that meets a database that is away ends, as it should. */
  async ready(): Promise<void> {
    for (const child of this.#all) await until('all work', () => child.all('ready').length > 0)
  }

  /** Kills workers, so many times, at random moments, and starts others in their places. */
  async killAtRandom(kills: number): Promise<void> {
    for (let kill = 1; kill <= kills; kill++) {
      await this.#randomMoment()
      if (kill % CLIENT_EVERY === 0) await this.#replaceClient()
      const place = this.#dice.whole(0, this.#workers.length - 1)
      const victim = this.#workers[place]
      if (victim !== undefined) this.#kill(victim)
      this.#workers[place] = this.#startWorker()
    }
  }

  /** Lets everything end in peace. */
  async wind(): Promise<void> {
    // Before it has said so, a process does not know what to do with the signal.
    await this.#client.line('ready')
    this.#client.signal('SIGTERM')
    expect(await this.#client.ended()).toEqual({ code: 0, signal: null })
    this.#listen()
    for (const worker of this.#workers) await worker.line('ready')
    for (const worker of this.#workers) worker.signal('SIGTERM')
    for (const worker of this.#workers) await worker.ended()
  }

  /** Whether this process said that it had lost its claim on this run. */
  lost(pid: number, run: string): boolean {
    return (
      this.#of(pid)
        ?.all('lost')
        .some((line) => line['run'] === run) ?? false
    )
  }

  get repeatedStarts(): number {
    return this.#all.reduce((sum, child) => sum + child.all('repeated').length, 0)
  }

  /** What no process should have said. */
  troubles(): readonly unknown[] {
    return this.#all.flatMap((child) => {
      const crashed = child.exit?.signal === 'SIGKILL' || child.exit?.code === 0 ? [] : [child.exit]
      const errors = child.errors === '' ? [] : [child.errors]
      return [...crashed, ...errors, ...child.all('error'), ...child.all('unhandled')]
    })
  }

  /** The longest time from the kill of a process in a body until another process began that body again. */
  longestTakeover(effects: readonly Effect[]): number {
    const starts = effects.filter(({ at }) => at === 'start')
    const times = starts.flatMap((start, i) => {
      const killedAt = this.killed.get(start.pid)
      const next = starts.slice(i + 1).find((other) => bodyOf(other) === bodyOf(start))
      return killedAt === undefined || next === undefined ? [] : [next.time - killedAt]
    })
    return Math.max(0, ...times)
  }

  /** Lets the work go on by about so many side effects. */
  async workOn(effects: number): Promise<void> {
    const target = this.#world.logSize() + effects * BYTES_PER_EFFECT
    const goesOn = (): boolean => this.#world.logSize() >= target
    await until('the work goes on', goesOn, () => JSON.stringify(this.#living(), null, 1))
  }

  /** After some more side effects, or after some time. */
  async #randomMoment(): Promise<void> {
    if (this.#dice.chance(0.5)) {
      const pauseMs = this.#dice.whole(0, 150)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      return
    }
    await this.workOn(this.#dice.whole(1, 40))
  }

  /** What those that should be at work said last, for the message of a failure. */
  #living(): readonly unknown[] {
    return [this.#client, ...this.#workers].map(({ pid, exit, errors, lines }) => {
      return { pid, exit, errors, lines: lines.slice(-20) }
    })
  }

  #kill(child: Child): void {
    this.killed.set(child.pid, Date.now())
    child.kill()
  }

  async #replaceClient(): Promise<void> {
    this.#kill(this.#client)
    this.clientKills += 1
    await this.#client.ended()
    this.#listen()
    this.#client = this.#startClient()
  }

  #startWorker(clockMs = 0): Child {
    const worker = this.#world.start('mixed-worker', { lease: this.leaseMs, maxDeaths: 100, clockMs })
    this.#all.push(worker)
    return worker
  }

  #startClient(): Child {
    const client = this.#world.start('mixed-client', {
      lease: this.leaseMs,
      maxDeaths: 100,
      names: startedWorkflows,
      lanes: LANES,
      open: [...this.started].filter((number) => !this.results.has(number)),
      next: Math.max(-1, ...this.started) + 1,
      // Half of the clients work too: their runs are created claimed.
      works: this.#dice.chance(0.5),
    })
    this.#all.push(client)
    return client
  }

  #listen(): void {
    for (const { at, number, id, output } of this.#client.lines) {
      if (typeof number !== 'number' || typeof id !== 'string') {
        if (at === 'starting') this.started.add(Number(number))
        continue
      }
      const known = this.accepted.get(number)
      if (known !== undefined && known !== id) this.contradictions.push(`key-${number}: ${known}, then ${id}`)
      this.accepted.set(number, id)
      if (at === 'result') this.results.set(number, output)
    }
  }

  #of(pid: number): Child | undefined {
    return this.#all.find((child) => child.pid === pid)
  }
}
