/**
 * SIGKILL at random moments, again and again, while three workers and a client share one database. What really happened is
 * read from the log of side effects, which the step bodies write themselves.
 */
import { expect, test } from 'vitest'
import type { Engine, RunRecord } from '../../src/index.ts'
import { type Child, Dice, type Effect, newWorld, sharedDatabases, until, type World } from './kit.ts'

/** How often on each database. `npm run test:long` takes 200 for all of them. */
const KILLS = { SQLite: 200, PostgreSQL: 50, MongoDB: 50 }
const WORKERS = 3
/** Every so many kills of workers, the client is killed too. */
const CLIENT_EVERY = 8
const LEASE_MS = 500
const LANES = 8
/** About. */
const BYTES_PER_EFFECT = 250
const seed = Number(process.env['PERDURE_SEED'] ?? Date.now() % 1_000_000)

/** The journal of each workflow. `small` and `remote` are the children of others. */
const steps: Readonly<Record<string, readonly string[]>> = {
  sequential: numbered('s', 10),
  parallel: [...numbered('s', 6), 'item', 'item#2', 'item#3', 's10'],
  sleeping: [...numbered('s', 5), ...numbered('nap', 5)],
  family: [...numbered('s', 6), ...numbered('child', 4)],
  calling: [...numbered('s', 4), ...numbered('call', 6)],
  small: ['c1', 'nap', 'c2'],
  remote: ['call'],
}
const started = ['sequential', 'parallel', 'sleeping', 'family', 'calling']

test.each(await sharedDatabases())(
  `W10 X1 X3 X21 B010 B018 B020: kills lose no run and repeat no step without cause, on %s`,
  async (database, url) => {
    console.log(`kill.test.ts: PERDURE_SEED=${seed}`)
    const world = await newWorld(url)
    const fleet = new Fleet(world, new Dice(seed), Number(process.env['PERDURE_KILLS'] ?? KILLS[database]))
    await fleet.killAtRandom()
    await fleet.wind()

    const engine = world.client()
    const runs = await allRuns(engine)
    const truth = await truthOf(engine, runs)
    const effects = world.effects()

    // Every run that was accepted, and every child, ended well and has the journal of its workflow, each step once.
    expect(runs.filter(({ status }) => status !== 'completed')).toEqual([])
    expect(fleet.accepted.size).toBeGreaterThan(10)
    for (const [number, id] of fleet.accepted) {
      const run = runs.find((candidate) => candidate.id === id)
      expect(run).toMatchObject({ key: `key-${number}`, workflow: started[number % started.length] })
      expect(fleet.results.get(number)).toEqual(truth.outputs.get(id))
    }
    // One run per key, also when its client was killed and another asked again.
    expect(runs.filter(({ key }) => key !== null)).toHaveLength(fleet.started.size)
    expect(fleet.contradictions).toEqual([])

    const repeats = judge(effects, truth, fleet)
    expect(repeats.unexplained).toEqual([])
    // No body ever saw an outcome that was not, or not yet, durable.
    expect(effects.filter(({ saw = [] }) => saw.some((nonce) => !truth.nonces.has(nonce)))).toEqual([])
    expect(fleet.troubles()).toEqual([])
    expect(await world.flaws()).toEqual([])
    console.log(
      `kill.test.ts on ${database}: ${fleet.killed.size} kills (${fleet.clientKills} of clients), ${fleet.accepted.size} runs accepted, ` +
        `${runs.length} runs, ${effects.filter(({ at }) => at === 'start').length} bodies started, ` +
        `${repeats.byKill} repeats explained by kills, ${repeats.byLoss} by lost leases, ` +
        `longest takeover ${fleet.longestTakeover(effects)} ms (lease ${LEASE_MS} ms), ` +
        `${fleet.repeatedStarts} starts repeated because the store was not available`,
    )
  },
)

/** The processes, and what they said. */
class Fleet {
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
  readonly #kills: number
  readonly #all: Child[] = []
  readonly #workers: Child[] = []
  #client: Child

  constructor(world: World, dice: Dice, kills: number) {
    this.#kills = kills
    this.#world = world
    this.#dice = dice
    for (let i = 0; i < WORKERS; i++) this.#workers.push(this.#startWorker())
    this.#client = this.#startClient()
  }

  async killAtRandom(): Promise<void> {
    for (let kill = 1; kill <= this.#kills; kill++) {
      await this.#randomMoment()
      if (kill % CLIENT_EVERY === 0) await this.#replaceClient()
      const place = this.#dice.whole(0, WORKERS - 1)
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

  /** After some more side effects, or after some time. */
  async #randomMoment(): Promise<void> {
    if (this.#dice.chance(0.5)) {
      const pauseMs = this.#dice.whole(0, 150)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      return
    }
    const target = this.#world.logSize() + this.#dice.whole(1, 40) * BYTES_PER_EFFECT
    const goesOn = (): boolean => this.#world.logSize() >= target
    await until('the work goes on', goesOn, () => JSON.stringify(this.#living(), null, 1))
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

  #startWorker(): Child {
    const worker = this.#world.start('mixed-worker', { lease: LEASE_MS, maxDeaths: 100 })
    this.#all.push(worker)
    return worker
  }

  #startClient(): Child {
    const client = this.#world.start('mixed-client', {
      lease: LEASE_MS,
      maxDeaths: 100,
      names: started,
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

interface Truth {
  /** The run that executes a body: the step's own, or the one of the function that it calls. */
  readonly runOf: (effect: Effect) => string
  /** All nonces that a journal holds. */
  readonly nonces: ReadonlySet<string>
  readonly outputs: ReadonlyMap<string, unknown>
}

/** Reads what the journals hold, and checks that each holds every step of its workflow once. */
async function truthOf(engine: Engine, runs: readonly RunRecord[]): Promise<Truth> {
  const nonces = new Set<string>()
  const outputs = new Map<string, unknown>()
  const called = new Map<string, string>()
  for (const run of runs) {
    const handle = engine.getHandle(run.id)
    const { entries } = await handle.history()
    const expected = [...(steps[run.workflow] ?? [])].sort()
    expect(entries.map(({ name }) => name).sort(), run.id).toEqual(expected)
    expect(
      entries.filter(({ status }) => status !== 'succeeded'),
      run.id,
    ).toEqual([])
    for (const { kind, result } of entries) if (kind === 'step') nonces.add(String(result))
    outputs.set(run.id, await handle.result())
    if (run.workflow === 'remote') called.set(`${run.parentId} ${run.parentStep}`, run.id)
  }
  return { nonces, outputs, runOf: (effect) => called.get(bodyOf(effect)) ?? effect.run }
}

/** Asks of each body that was started, and is not the one that was recorded, why it was in vain. */
function judge(effects: readonly Effect[], { nonces, runOf }: Truth, fleet: Fleet) {
  const unexplained: Effect[] = []
  let byKill = 0
  let byLoss = 0
  const bodies = new Map<string, Effect[]>()
  for (const effect of effects.filter(({ at }) => at === 'start')) {
    bodies.set(bodyOf(effect), [...(bodies.get(bodyOf(effect)) ?? []), effect])
  }
  const ended = new Set(effects.filter(({ at }) => at === 'end').map(({ nonce }) => nonce))
  for (const starts of bodies.values()) {
    const pids = new Set<number>()
    for (const [i, start] of starts.entries()) {
      const isRecorded = nonces.has(start.nonce)
      const isAgain = pids.has(start.pid)
      pids.add(start.pid)
      // The recorded call is the last one, and it had ended.
      if (isRecorded && ended.has(start.nonce) && i === starts.length - 1) continue
      if (!isRecorded && !isAgain && fleet.killed.has(start.pid)) byKill += 1
      else if (!isRecorded && fleet.lost(start.pid, runOf(start))) byLoss += 1
      else unexplained.push(start)
    }
  }
  return { unexplained, byKill, byLoss }
}

function bodyOf({ run, step }: Effect): string {
  return `${run} ${step}`
}

async function allRuns(engine: Engine): Promise<readonly RunRecord[]> {
  const runs: RunRecord[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await engine.listRuns(cursor === undefined ? { limit: 1_000 } : { limit: 1_000, cursor })
    runs.push(...page.runs)
    cursor = page.cursor
  }
  return runs
}

function numbered(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${name}${i + 1}`)
}
