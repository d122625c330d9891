import { type Duration, parseDuration } from '../core/duration.ts'
import { RunNotFoundError } from '../core/errors.ts'
import { isTerminal } from '../core/run.ts'
import type { Engine, EngineOptions, RunHandle, StartOptions, WorkOptions } from '../engine/api.ts'
import { createEngine } from '../engine/engine.ts'
import { localNotifier } from '../engine/local-notifier.ts'
import type { Workflow } from '../engine/workflow.ts'
import type { Log } from '../ports/environment.ts'
import type { Store } from '../ports/store.ts'
import { memory } from '../stores/memory/index.ts'
import { Activity, type BodyCall } from './activity.ts'
import { outcomeOf, type RunOutcome } from './outcome.ts'
import { Pacer } from './pacer.ts'
import { Player } from './player.ts'
import { silentLog, VirtualTime } from './virtual-time.ts'

/** The options of `createTestEngine`: those of `createEngine`, but for what the test engine brings itself. */
export interface TestEngineOptions extends Omit<EngineOptions, 'store' | 'environment'> {
  /** Default: a fresh `memory()`. */
  readonly store?: Store
  /** Share one to let several engines live in the same time. Default: a new one. */
  readonly time?: VirtualTime
  /** Makes ids and random numbers differ from those of other engines of the same store. Default `'test'`. */
  readonly seed?: string
  /** `false`: the engine only starts runs and tells about them. Default: it executes them, 100 at once. */
  readonly work?: WorkOptions | false
  /**
   * How long, in real ms, a step body is waited for before it is taken to wait for virtual time, e.g. for its
   * own timeout. Raise it if bodies talk to slow services. Default 250.
   */
  readonly patience?: number
  /** How often time may move in one call before that is an error. Default 50,000. */
  readonly maxMoves?: number
}

/** A run that a test engine has driven, and what became of it. */
export interface TestRun<Output = unknown> extends RunOutcome<Output> {
  readonly handle: RunHandle<Output>
}

/** An engine on virtual time. */
export interface TestEngine {
  readonly engine: Engine
  readonly time: VirtualTime
  /** The store as it was given: calls that the test makes itself are not those of the engine. */
  readonly store: Store
  /** Every step body that was called, in order. */
  readonly bodies: readonly BodyCall[]
  /**
   * Starts a run and moves time on until it has ended, or nothing more can happen because it waits for an event
   * or was paused. Never throws for what the workflow does: look at `status`, `output` and `error`.
   */
  run<Input, Output>(
    workflow: Workflow<Input, Output>,
    input: Input,
    options?: StartOptions,
  ): Promise<TestRun<Output>>
  run<Output = unknown>(name: string, input?: unknown, options?: StartOptions): Promise<TestRun<Output>>
  /** Moves time on to whatever is due next, again and again, until nothing is due any more. */
  runUntilIdle(): Promise<void>
  /** Moves time on by `duration`, with all that is due on the way. */
  advance(duration: Duration): Promise<void>
  /** Moves time on until `promise` is settled. Rejects if nothing that is due can settle it. */
  until<Value>(promise: Promise<Value>): Promise<Value>
  /** Closes the engine, and with it the store. */
  close(): Promise<void>
}

/** A lease that no leap of time outlasts. */
export const ENDLESS_LEASE_MS = 200_000 * 365 * 86_400_000

/**
 * Makes an engine whose time moves only when the test says so, so that a workflow that takes a month is tested in
 * a millisecond, the same way every time. By default its worker's lease never ends, and polls and sweeps are skipped
 * while time leaps; give a `lease` to see them made at their times.
 *
 * @example
 * const test = await createTestEngine({ workflows: [reminder] })
 * const { output } = await test.run(reminder, 'call Ada') // sleeps for two weeks, instantly
 * await test.close()
 *
 * @example An event while the run waits:
 * const handle = await test.engine.startWorkflow(approval, order)
 * await test.runUntilIdle()
 * await test.engine.sendEvent(handle.id, 'approved', { by: 'Ada' })
 * expect(await test.until(handle.result())).toBe('shipped')
 */
export async function createTestEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  const test = new LocalTestEngine(options)
  await test.begin()
  return test
}

class LocalTestEngine implements TestEngine {
  readonly engine: Engine
  readonly time: VirtualTime
  readonly store: Store
  readonly #activity = new Activity()
  readonly #pacer: Pacer
  readonly #work: WorkOptions | false

  constructor(options: TestEngineOptions) {
    const {
      store = memory(),
      time = new VirtualTime(),
      work = {},
      patience = 250,
      maxMoves = 50_000,
    } = options
    this.store = store
    this.time = time
    this.#work = work
    const engine = engineOn({ store, time, activity: this.#activity }, options)
    const player = new Player(store, this.#activity, work === false ? null : { ...options, ...work })
    const register = engine.register.bind(engine)
    this.engine = Object.assign(engine, {
      register: (workflow: Workflow) => {
        register(workflow)
        player.add([workflow])
      },
    })
    const exact = options.lease !== undefined
    this.#pacer = new Pacer({ time, players: () => [player], patience, maxMoves, exact })
  }

  get bodies(): readonly BodyCall[] {
    return this.#activity.bodies
  }

  async begin(): Promise<void> {
    if (this.#work !== false) await this.until(this.engine.work(this.#work))
  }

  async run<Output>(
    workflow: Workflow<unknown, Output> | string,
    input?: unknown,
    options?: StartOptions,
  ): Promise<TestRun<Output>> {
    const starting =
      typeof workflow === 'string'
        ? this.engine.startWorkflow<Output>(workflow, input, options)
        : this.engine.startWorkflow(workflow, input, options)
    const handle = await this.until(starting)
    await this.#pacer.until(async () => {
      const run = await this.store.getRun(handle.id)
      return run === null || isTerminal(run.status)
    })
    const record = await this.store.getRun(handle.id)
    if (record === null) throw new RunNotFoundError(handle.id)
    return { handle, ...outcomeOf<Output>(record) }
  }

  async runUntilIdle(): Promise<void> {
    await this.#pacer.untilIdle()
  }

  async advance(duration: Duration): Promise<void> {
    await this.#pacer.advanceTo(this.time.now + parseDuration(duration, 'The duration to advance'))
  }

  async until<Value>(promise: Promise<Value>): Promise<Value> {
    return await this.#pacer.untilSettled(promise)
  }

  async close(): Promise<void> {
    await this.until(this.engine.close())
  }
}

interface Surroundings {
  readonly store: Store
  readonly time: VirtualTime
  readonly activity: Activity
}

function engineOn({ store, time, activity }: Surroundings, options: TestEngineOptions): Engine {
  const { seed = 'test', log, observer, work: _, patience: __, maxMoves: ___, time: ____, ...rest } = options
  const quietOr: Log = log ?? silentLog
  return createEngine({
    lease: ENDLESS_LEASE_MS,
    // Engines that share a store hear of each other by the store that was given, not by the watched one.
    notifier: localNotifier(store),
    ...rest,
    store: activity.watch(store),
    environment: time.environment({ seed, log: quietOr }),
    observer: (event) => {
      activity.observe(event)
      observer?.(event)
    },
  })
}
