import { parseDuration } from '../core/duration.ts'
import type { RunHandle } from '../engine/api.ts'
import { localNotifier } from '../engine/local-notifier.ts'
import type { Workflow } from '../engine/workflow.ts'
import { memory } from '../stores/memory/index.ts'
import type { CrashDriver, CrashOptions } from './crash-options.ts'
import { CrashProcess, type CrashSite, type CutPoint, type StoreCall } from './crash-process.ts'
import { Pacer } from './pacer.ts'
import { Player } from './player.ts'
import { type RunResult, resultOf } from './run-result.ts'
import { VirtualTime } from './virtual-time.ts'

/** What is run, again and again. */
export interface CrashPlan {
  readonly workflow: Workflow
  readonly input: unknown
  readonly options: CrashOptions
  /** What was found to wait for virtual time, in all runs so far. */
  readonly waitsForTime: Set<string>
}

/** What happened in one run. */
export interface Played {
  readonly result: RunResult
  /** The calls of the first process. */
  readonly calls: readonly StoreCall[]
  /** Whether the first process was cut off. */
  readonly cut: boolean
  /** How often each step body, and each counted side effect, happened. */
  readonly effects: ReadonlyMap<string, number>
}

const RUN_ID = 'crash-kit'

/** Runs a workflow once in a world of its own; with a cut, another process takes over from the first. */
export async function play(plan: CrashPlan, point: CutPoint | null): Promise<Played> {
  await plan.options.setup?.()
  const counters = Object.entries(plan.options.effects ?? {})
  const before = counters.map(([, count]) => count())
  const store = (await plan.options.store?.()) ?? memory()
  const world = new CrashWorld({ ...plan, store }, point)
  try {
    const { result, calls, bodies } = await world.play()
    const cut = world.wasCut
    for (const [index, [name, count]] of counters.entries()) bodies.set(name, count() - (before[index] ?? 0))
    return { result, calls, cut, effects: bodies }
  } finally {
    world.end()
    await store.close()
  }
}

class CrashWorld {
  readonly #plan: CrashPlan
  readonly #site: CrashSite
  readonly #time = new VirtualTime()
  readonly #pacer: Pacer
  /** Starts and drives the run; never cut off, and never working. */
  readonly #client: CrashProcess
  readonly #workers: CrashProcess[] = []
  readonly #players: Player[]
  /** When the next process takes over. */
  #takeover: number | null = null

  constructor(plan: CrashPlan & Pick<CrashSite, 'store'>, cut: CutPoint | null) {
    const { store, workflow, options } = plan
    const { workflows = [], patience = 250, maxMoves = 50_000 } = options
    const all = workflows.includes(workflow) ? workflows : [workflow, ...workflows]
    const notifier = () => localNotifier(store)
    this.#plan = plan
    this.#site = { store, time: this.#time, notifier, options: { ...options, workflows: all } }
    this.#pacer = new Pacer({
      time: this.#time,
      players: () => this.#players,
      appointment: () => this.#takeover,
      patience,
      maxMoves,
      exact: false,
      waitsForTime: plan.waitsForTime,
    })
    this.#client = new CrashProcess(this.#site, 'client', null, async () => {})
    this.#players = [new Player(store, this.#client.activity, null)]
    this.#open('first', cut)
  }

  /** Whether the first process was cut off. */
  get wasCut(): boolean {
    return this.#workers[0]?.dead ?? false
  }

  async play() {
    const handle = await this.#start()
    await this.#plan.options.drive?.(this.#driver(), handle)
    await this.#pacer.untilIdle()
    const [journal] = await this.#site.store.journal([RUN_ID], { entries: true })
    if (journal === undefined) throw new Error('The store returned no journal for the run that was started.')
    const calls = this.#workers[0]?.calls ?? []
    return { result: resultOf(journal), calls, bodies: await this.#countBodies() }
  }

  /** Nothing of this world happens any more. */
  end(): void {
    for (const process of [this.#client, ...this.#workers]) process.kill()
  }

  /** Starts a process that works. Its failure to do so is that of the test. */
  #open(name: string, cut: CutPoint | null): CrashProcess {
    const process: CrashProcess = new CrashProcess(this.#site, name, cut, () => this.#crashed(process))
    this.#workers.push(process)
    this.#players.push(new Player(this.#site.store, process.activity, this.#site.options))
    return process
  }

  /** The first process starts the run; if it dies over that, the client repeats the call, as one would. */
  async #start(): Promise<RunHandle> {
    const first = this.#workers[0] ?? this.#open('first', null)
    const { workflow, input, options } = this.#plan
    const start = { ...options.start, id: RUN_ID }
    const started = first.engine.work().then(() => first.engine.startWorkflow(workflow, input, start))
    let settled = false
    const settle = (): void => {
      settled = true
    }
    started.then(settle, settle)
    await this.#pacer.until(() => settled || first.dead)
    if (settled) await started
    else await this.#pacer.untilSettled(this.#client.engine.startWorkflow(workflow, input, start))
    return this.#client.engine.getHandle(RUN_ID)
  }

  async #crashed(process: CrashProcess): Promise<void> {
    // Whatever it was doing, nobody waits for it any more.
    this.#players.splice(1)
    const { store, options } = this.#site
    const leaseMs = parseDuration(options.lease ?? '15s', 'The lease')
    const { activity } = this.#client
    activity.calls += 1
    // Its lease was endless, so that leaps of time do no harm; it dies with one that ends.
    for (const id of process.workers) await store.heartbeat({ id, leaseMs, register: false }, this.#time.now)
    activity.calls -= 1
    activity.progress += 1
    this.#takeover = this.#time.now + leaseMs
    this.#time.environment().setTimer(leaseMs, () => {
      this.#takeover = null
      void this.#open('second', null).engine.work()
    })
  }

  #driver(): CrashDriver {
    const pacer = this.#pacer
    const time = this.#time
    return {
      engine: this.#client.engine,
      time,
      runUntilIdle: () => pacer.untilIdle(),
      advance: (duration) => pacer.advanceTo(time.now + parseDuration(duration, 'The duration to advance')),
      until: (promise) => pacer.untilSettled(promise),
    }
  }

  async #countBodies(): Promise<Map<string, number>> {
    const counts = new Map<string, number>()
    for (const { activity } of this.#workers) {
      for (const { runId, key, attempt } of activity.bodies) {
        const name = await this.#nameOf(runId, key, attempt)
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
    }
    return counts
  }

  async #nameOf(runId: string, key: string, attempt: number): Promise<string> {
    const run = runId === RUN_ID ? null : await this.#site.store.getRun(runId)
    const of = run === null ? '' : ` of ${run.workflow}`
    return `step ${key}${of}${attempt === 1 ? '' : `, attempt ${attempt}`}`
  }
}
