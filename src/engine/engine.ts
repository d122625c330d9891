import { type Duration, parseDuration } from '../core/duration.ts'
import { EngineClosedError, InvalidArgumentError } from '../core/errors.ts'
import { DEFAULT_CONCURRENCY, DEFAULT_MAX_JOURNAL_ENTRIES, DEFAULT_MAX_VALUE_BYTES } from '../core/limits.ts'
import { checkName } from '../core/names.ts'
import { compileRetry, NO_RETRY, type RetryOptions } from '../core/retry.ts'
import type { RunRecord } from '../core/run.ts'
import type { Environment, Log } from '../ports/environment.ts'
import type { Hint, Notifier } from '../ports/notifier.ts'
import type { Observer } from '../ports/observer.ts'
import type { RunCount, RunFilter, RunPage, Store } from '../ports/store.ts'
import { Committer } from './committer.ts'
import type { EngineConfig } from './config.ts'
import type { Ending } from './ending.ts'
import { consoleLog, systemEnvironment } from './environment.ts'
import { type ForkOptions, forkOf } from './fork.ts'
import { makeHandle, type RunHandle } from './handle.ts'
import { localNotifier } from './local-notifier.ts'
import { Operations } from './operator.ts'
import { Registry } from './registry.ts'
import { Starter, type StartOptions } from './start.ts'
import { Waiters } from './waiters.ts'
import { Worker } from './worker.ts'
import type { RegisteredFunction, Workflow } from './workflow.ts'

/** The options of `createEngine`. Durations: milliseconds, or text such as `'90s'`. */
export interface EngineOptions {
  /** Where runs live: `sqlite('work.db')`, `memory()`, … The engine closes it when it is closed. */
  readonly store: Store
  readonly workflows?: readonly Workflow[]
  /** Functions that steps can call by name. Names are shared with workflows. */
  readonly functions?: Readonly<Record<string, RegisteredFunction>>
  /** Carries wake-up hints to engines of other processes. Default: within this process, per store. */
  readonly notifier?: Notifier
  /** Default: warnings and errors to standard error. */
  readonly log?: Log
  /** Time, chance and timers; for tests. Default: the system's. */
  readonly environment?: Environment
  /** Is told what happens, e.g. for telemetry. */
  readonly observer?: Observer
  /** Retries of steps that name none. Default: none. */
  readonly stepRetry?: RetryOptions
  /** How long ended runs and their keys are kept, unless the workflow says otherwise. Default 24 hours. */
  readonly retention?: Duration
  /** Limit of one encoded value, in bytes. Default 1 MiB. */
  readonly maxValueBytes?: number
  /** Limit of journal entries per run. Default 10,000. */
  readonly maxJournalEntries?: number
  /** How often an idle worker asks the store whether something is due. Default 1 second. */
  readonly pollInterval?: Duration
  /** After this time without a heartbeat a worker counts as dead. Default 15 seconds. */
  readonly lease?: Duration
  /** How many parked runs stay in memory, to go on without a replay. Default 1,000. */
  readonly hotRuns?: number
  /** Workers in a row that may die executing a run that makes no progress. Default 10. */
  readonly maxDeaths?: number
  /** How long a cancelled run waits for a body that ignores its `signal`. Default 5 seconds. */
  readonly abortGrace?: Duration
  /** Leave the store open when the engine is closed, because others use it too. Default `false`. */
  readonly keepStoreOpen?: boolean
}

/** The options of `engine.work`. */
export interface WorkOptions {
  /** How many runs may execute at once; parked runs do not count. Default 100. */
  readonly concurrency?: number
  /** Work only on these queues. Default: all. */
  readonly queues?: readonly string[]
}

/** Starts runs, executes them, and tells about them. Make one per process and store. */
export interface Engine {
  /** Begins to execute runs in this process, until `close`. Resolves when it has begun. */
  work(options?: WorkOptions): Promise<void>
  /**
   * Stops working: takes no new runs, lets step bodies that run end for `timeout` (default 10 seconds), then aborts them;
   * hands all unfinished runs back so that others go on at once; closes the store. Idempotent.
   */
  close(options?: { readonly timeout?: Duration }): Promise<void>
  /**
   * Starts a run. When it resolves, the run is durable: it will be executed whatever happens to this process.
   * @throws UnknownWorkflowError, InvalidInputError, ValueTooLargeError, InvalidNameError, InvalidDurationError,
   * RunConflictError, EngineClosedError, StoreError: nothing was started (after a StoreError repeat the call with
   * the same key or id).
   */
  startWorkflow<Input, Output>(
    workflow: Workflow<Input, Output>,
    input: Input,
    options?: StartOptions,
  ): Promise<RunHandle<Output>>
  /** The same by name; also starts a registered function as a run. */
  startWorkflow<Output = unknown>(
    name: string,
    input?: unknown,
    options?: StartOptions,
  ): Promise<RunHandle<Output>>
  /** A handle of a run, whether it exists or not. */
  getHandle<Output = unknown>(runId: string): RunHandle<Output>
  /** The run, or `null` if there is none (any more). */
  getRun(runId: string): Promise<RunRecord | null>
  /** Runs, newest first. `limit` defaults to 100. */
  listRuns(filter?: Partial<RunFilter>): Promise<RunPage>
  /** How many runs are in which state, by workflow and queue. */
  stats(): Promise<readonly RunCount[]>
  /**
   * Delivers an event to a run; it is kept until the run waits for it. With an `id`, repeating the call has no effect.
   * @throws RunNotFoundError, RunStateError if the run has ended.
   */
  sendEvent(runId: string, name: string, payload?: unknown, options?: { readonly id?: string }): Promise<void>
  /** Cancels a run: `RunCancelledError` is thrown into it once, so that it can clean up, and it ends as cancelled. */
  cancel(runId: string, reason?: string): Promise<void>
  /** Sets a run aside after the step bodies that run, until `resume`. */
  pause(runId: string): Promise<void>
  resume(runId: string): Promise<void>
  /** Starts a failed or cancelled run over, with its journal: what succeeded is not done again. */
  revive(runId: string): Promise<void>
  /** Makes a run due now: ends the delay of a start or of a retry. A sleep is not shortened. */
  wake(runId: string): Promise<void>
  /** Starts a new run from the part of a journal before a step. */
  fork<Output = unknown>(runId: string, options?: ForkOptions): Promise<RunHandle<Output>>
  /** Deletes an ended run, its journal and its key. */
  deleteRun(runId: string): Promise<void>
}

const DEFAULTS = {
  retention: '24h',
  pollInterval: '1s',
  lease: '15s',
  hotRuns: 1000,
  maxDeaths: 10,
  abortGrace: '5s',
  closeTimeout: '10s',
  replayStallMs: 1000,
} as const

/**
 * Makes an engine. Nothing is read or written before the first call.
 *
 * @example
 * const engine = createEngine({ store: sqlite('work.db'), workflows: [greet] })
 * await engine.work()
 * const handle = await engine.startWorkflow(greet, 'Ada')
 * console.log(await handle.result())
 * await engine.close()
 */
export function createEngine(options: EngineOptions): Engine {
  return new LocalEngine(options)
}

class LocalEngine implements Engine {
  readonly #options: EngineOptions
  readonly #store: Store
  readonly #env: Environment
  readonly #config: EngineConfig
  readonly #notifier: Notifier
  readonly #registry: Registry
  readonly #committer: Committer
  readonly #waiters: Waiters
  readonly #operations: Operations
  readonly #starter: Starter
  readonly #unsubscribe: () => void
  #migrated: Promise<void> | null = null
  #worker: Worker | null = null
  #release: () => void = () => {}
  #closing: Promise<void> | null = null

  constructor(options: EngineOptions) {
    this.#options = options
    this.#store = checkStore(options?.store)
    this.#env = options.environment ?? systemEnvironment(options.log ?? consoleLog)
    this.#config = configOf(options)
    this.#notifier = options.notifier ?? localNotifier(this.#store)
    this.#registry = new Registry(options.workflows ?? [], options.functions ?? {})
    this.#committer = new Committer(this.#store, this.#env, this.#notifier)
    const { pollInterval } = this.#config
    this.#waiters = new Waiters(this.#store, this.#env, pollInterval, (id) => this.#worker?.has(id) ?? false)
    this.#operations = new Operations({
      store: this.#store,
      env: this.#env,
      config: this.#config,
      committer: this.#committer,
      waiters: this.#waiters,
      ready: () => this.#ready(),
    })
    const worker = (): Worker | null => this.#worker
    this.#starter = new Starter({ operations: this.#operations, registry: this.#registry, worker })
    this.#unsubscribe = this.#notifier.subscribe((hints) => this.#heard(hints))
  }

  async work({ concurrency = DEFAULT_CONCURRENCY, queues }: WorkOptions = {}): Promise<void> {
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new InvalidArgumentError('The concurrency of a worker is a whole number from 1.')
    }
    const lanes = queues === undefined ? null : queues.map((queue) => checkName(queue, 'A queue'))
    if (this.#worker !== null) throw new InvalidArgumentError('This engine works already; close it first.')
    const worker = new Worker(
      {
        store: this.#store,
        env: this.#env,
        config: this.#config,
        committer: this.#committer,
        notifier: this.#notifier,
        registry: this.#registry,
        observer: this.#options.observer ?? null,
        onEnded: (run, ending) => this.#ended(run, ending),
      },
      { concurrency, queues: lanes },
    )
    this.#worker = worker
    try {
      await this.#ready()
      await worker.start()
      this.#release = this.#env.keepAlive()
    } catch (error) {
      this.#worker = null
      throw error
    }
  }

  close({ timeout = DEFAULTS.closeTimeout }: { readonly timeout?: Duration } = {}): Promise<void> {
    const graceMs = parseDuration(timeout, 'The timeout of close')
    this.#closing ??= this.#shutDown(graceMs)
    return this.#closing
  }

  async startWorkflow<Output>(
    workflow: string | Workflow,
    input?: unknown,
    options: StartOptions = {},
  ): Promise<RunHandle<Output>> {
    this.#refuseIfClosed()
    return await this.#starter.start(workflow, input, options)
  }

  getHandle<Output>(runId: string): RunHandle<Output> {
    return makeHandle(this.#operations, runId, { created: false, inputDiffers: false })
  }

  async getRun(runId: string): Promise<RunRecord | null> {
    await this.#ready()
    return await this.#store.getRun(runId)
  }

  async listRuns(filter: Partial<RunFilter> = {}): Promise<RunPage> {
    await this.#ready()
    return await this.#store.listRuns({ limit: 100, ...filter })
  }

  async stats(): Promise<readonly RunCount[]> {
    await this.#ready()
    return await this.#store.stats()
  }

  async sendEvent(
    runId: string,
    name: string,
    payload?: unknown,
    options: { readonly id?: string } = {},
  ): Promise<void> {
    await this.#operations.sendEvent(runId, name, payload, options)
  }

  async cancel(runId: string, reason?: string): Promise<void> {
    await this.#operations.cancel(runId, reason)
  }

  async pause(runId: string): Promise<void> {
    await this.#operations.pause(runId)
  }

  async resume(runId: string): Promise<void> {
    await this.#operations.resume(runId)
  }

  async revive(runId: string): Promise<void> {
    await this.#operations.revive(runId)
  }

  async wake(runId: string): Promise<void> {
    await this.#operations.wake(runId)
  }

  async fork<Output>(runId: string, options: ForkOptions = {}): Promise<RunHandle<Output>> {
    await this.#ready()
    return await this.#starter.fork(await forkOf(this.#operations, runId, options))
  }

  async deleteRun(runId: string): Promise<void> {
    await this.#operations.delete(runId)
  }

  /** Opens the store before its first use. A failure is not remembered: the next call tries again. */
  async #ready(): Promise<void> {
    this.#refuseIfClosed()
    this.#migrated ??= this.#store.migrate()
    try {
      await this.#migrated
    } catch (error) {
      this.#migrated = null
      throw error
    }
  }

  #refuseIfClosed(): void {
    if (this.#closing !== null) throw new EngineClosedError()
  }

  #heard(hints: readonly Hint[]): void {
    for (const hint of hints) {
      if (hint.kind === 'due') this.#worker?.hint(hint.at)
      else if (hint.kind === 'delivered') this.#worker?.delivered(hint.runId)
      else this.#waiters.hint(hint.runId)
    }
  }

  /** A run ended here: whoever waits for it need not ask the store. */
  #ended(run: RunRecord, { transition, state }: Ending): void {
    if (!('output' in transition)) return
    // An accepted cancel may have won over what the function returned; then the store knows better.
    const { status, output, error } = transition
    if (state?.status === status) {
      this.#waiters.ended(run.id, { workflow: run.workflow, status, output, error })
    } else {
      this.#waiters.hint(run.id)
    }
  }

  async #shutDown(graceMs: number): Promise<void> {
    await this.#migrated?.catch(() => {})
    try {
      await this.#worker?.stop(graceMs)
    } catch (error) {
      this.#env.log.warn('stopping was not orderly; the lease will free what is left', {
        error: String(error),
      })
    }
    await this.#committer.drained()
    this.#committer.close()
    this.#waiters.close()
    this.#unsubscribe()
    this.#release()
    if (this.#options.notifier === undefined) await this.#notifier.close()
    if (this.#options.keepStoreOpen !== true) await this.#store.close()
  }
}

function checkStore(store: unknown): Store {
  const isStore = typeof store === 'object' && store !== null && 'commit' in store && 'claim' in store
  if (isStore) return store as Store
  throw new InvalidArgumentError("createEngine needs a store, e.g. { store: sqlite('work.db') }.")
}

function configOf(options: EngineOptions): EngineConfig {
  const duration = (name: 'retention' | 'pollInterval' | 'lease' | 'abortGrace'): number => {
    return parseDuration(options[name] ?? DEFAULTS[name], `The option ${name}`)
  }
  const whole = (
    name: 'maxValueBytes' | 'maxJournalEntries' | 'hotRuns' | 'maxDeaths',
    fallback: number,
    min: number,
  ) => {
    const value = options[name] ?? fallback
    if (Number.isInteger(value) && value >= min) return value
    throw new InvalidArgumentError(`The option ${name} is a whole number from ${min}.`)
  }
  return {
    retry: compileRetry(options.stepRetry ?? {}, 'The option stepRetry', NO_RETRY),
    retention: duration('retention'),
    pollInterval: Math.max(1, duration('pollInterval')),
    lease: Math.max(10, duration('lease')),
    abortGrace: duration('abortGrace'),
    maxValueBytes: whole('maxValueBytes', DEFAULT_MAX_VALUE_BYTES, 1),
    maxJournalEntries: whole('maxJournalEntries', DEFAULT_MAX_JOURNAL_ENTRIES, 1),
    hotRuns: whole('hotRuns', DEFAULTS.hotRuns, 0),
    maxDeaths: whole('maxDeaths', DEFAULTS.maxDeaths, 1),
    replayStall: DEFAULTS.replayStallMs,
  }
}
