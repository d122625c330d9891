import { type Duration, parseDuration } from '../core/duration.ts'
import { EngineClosedError, InvalidArgumentError } from '../core/errors.ts'
import { DEFAULT_CONCURRENCY } from '../core/limits.ts'
import { checkId, checkName } from '../core/names.ts'
import type { RunRecord } from '../core/run.ts'
import type { Environment } from '../ports/environment.ts'
import type { Hint, Notifier } from '../ports/notifier.ts'
import type { Observer } from '../ports/observer.ts'
import type { RunCount, RunFilter, RunPage, Store } from '../ports/store.ts'
import type { Engine, EngineOptions, ForkOptions, RunHandle, StartOptions, WorkOptions } from './api.ts'
import { Committer } from './committer.ts'
import { configOf, DEFAULT_CLOSE_TIMEOUT, type EngineConfig } from './config.ts'
import type { Ending } from './ending.ts'
import { consoleLog, systemEnvironment } from './environment.ts'
import { forkOf } from './fork.ts'
import { guardedLog, guardedNotifier, guardedObserver } from './guarded.ts'
import { makeHandle } from './handle.ts'
import { localNotifier } from './local-notifier.ts'
import { Operator } from './operator.ts'
import { Registry } from './registry.ts'
import { Starter } from './start.ts'
import { StoreClock } from './store-clock.ts'
import { reap } from './sweeper.ts'
import { Waiters } from './waiters.ts'
import { Worker } from './worker.ts'
import type { Workflow } from './workflow.ts'

const DEFAULT_PAGE = 100
const MAX_PAGE = 1000

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
  /** `null` if this process's clock is the store's. */
  readonly #clock: StoreClock | null
  readonly #config: EngineConfig
  readonly #notifier: Notifier
  readonly #observer: Observer | null
  readonly #registry: Registry
  readonly #committer: Committer
  readonly #waiters: Waiters
  readonly #operator: Operator
  readonly #starter: Starter
  readonly #unsubscribe: () => void
  #migrated: Promise<void> | null = null
  #worker: Worker | null = null
  #release: () => void = () => {}
  #closing: Promise<void> | null = null
  /** Step bodies may use the engine until the last of them has ended. */
  #closed = false

  constructor(options: EngineOptions) {
    this.#options = options
    this.#store = checkStore(options?.store)
    this.#clock = storeClock(this.#store, options)
    const environment = this.#clock?.environment ?? environmentOf(options)
    this.#env = { ...environment, log: guardedLog(environment.log) }
    this.#config = configOf(options)
    this.#observer = options.observer === undefined ? null : guardedObserver(options.observer, this.#env)
    this.#notifier = guardedNotifier(options.notifier ?? notifierOf(this.#store, this.#env), this.#env)
    this.#registry = new Registry(options.workflows ?? [], options.functions ?? {})
    this.#committer = new Committer(this.#store, this.#env, this.#notifier)
    const { pollInterval } = this.#config
    this.#waiters = new Waiters(this.#store, this.#env, pollInterval, (id) => this.#worker?.has(id) ?? false)
    this.#operator = new Operator({
      store: this.#store,
      env: this.#env,
      config: this.#config,
      committer: this.#committer,
      waiters: this.#waiters,
      ready: () => this.#ready(),
    })
    const worker = (): Worker | null => this.#worker
    this.#starter = new Starter({ operator: this.#operator, registry: this.#registry, worker })
    this.#unsubscribe = this.#notifier.subscribe((hints) => this.#heard(hints))
  }

  async work({ concurrency = DEFAULT_CONCURRENCY, queues }: WorkOptions = {}): Promise<void> {
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new InvalidArgumentError('The concurrency of a worker is a whole number from 1.')
    }
    const lanes = queues === undefined ? null : checkQueues(queues)
    if (this.#closing !== null) throw new EngineClosedError()
    if (this.#worker !== null) throw new InvalidArgumentError('This engine works already; close it first.')
    const worker = new Worker(
      {
        store: this.#store,
        env: this.#env,
        config: this.#config,
        committer: this.#committer,
        notifier: this.#notifier,
        registry: this.#registry,
        observer: this.#observer,
        onEnded: (run, ending) => this.#ended(run, ending),
      },
      { concurrency, queues: lanes },
    )
    this.#worker = worker
    try {
      await this.#ready()
      await worker.start()
      if (this.#closing === null) this.#release = this.#env.keepAlive()
    } catch (error) {
      // Closed while it was about to begin: there is nothing left that could fail.
      if (this.#closing !== null) return
      this.#worker = null
      throw error
    }
  }

  async close({ timeout = DEFAULT_CLOSE_TIMEOUT }: { readonly timeout?: Duration } = {}): Promise<void> {
    const graceMs = parseDuration(timeout, 'The timeout of close')
    this.#closing ??= this.#shutDown(graceMs)
    await this.#closing
  }

  register(workflow: Workflow): void {
    this.#refuseIfClosed()
    this.#registry.addWorkflow(workflow)
    this.#worker?.look()
  }

  async sweep(): Promise<readonly string[]> {
    await this.#ready()
    const freed = await reap({ store: this.#store, env: this.#env, notifier: this.#notifier })
    this.#worker?.look()
    return freed
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
    return makeHandle(this.#operator, checkId(runId, 'The id of a run'), {
      created: false,
      inputDiffers: false,
    })
  }

  async getRun(runId: string): Promise<RunRecord | null> {
    checkId(runId, 'The id of a run')
    await this.#ready()
    return await this.#store.getRun(runId)
  }

  async listRuns(filter: Partial<RunFilter> = {}): Promise<RunPage> {
    checkFilter(filter)
    const { limit = DEFAULT_PAGE } = filter
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE) {
      throw new InvalidArgumentError(`The limit of listRuns is a whole number from 1 to ${MAX_PAGE}.`)
    }
    await this.#ready()
    return await this.#store.listRuns({ ...filter, limit })
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
    await this.#operator.sendEvent(runId, name, payload, options)
  }

  async cancel(runId: string, reason?: string): Promise<void> {
    await this.#operator.cancel(runId, reason)
  }

  async pause(runId: string): Promise<void> {
    await this.#operator.pause(runId)
  }

  async resume(runId: string): Promise<void> {
    await this.#operator.resume(runId)
  }

  async revive(runId: string): Promise<void> {
    await this.#operator.revive(runId)
  }

  async wake(runId: string): Promise<void> {
    await this.#operator.wake(runId)
  }

  async fork<Output>(runId: string, options: ForkOptions = {}): Promise<RunHandle<Output>> {
    await this.#ready()
    return await this.#starter.fork(await forkOf(this.#operator, runId, options))
  }

  async deleteRun(runId: string): Promise<void> {
    await this.#operator.delete(runId)
  }

  /** Opens the store before its first use. A failure is not remembered: the next call tries again. */
  async #ready(): Promise<void> {
    this.#refuseIfClosed()
    this.#migrated ??= this.#open()
    try {
      await this.#migrated
    } catch (error) {
      this.#migrated = null
      throw error
    }
  }

  async #open(): Promise<void> {
    await this.#store.migrate()
    await this.#clock?.start()
  }

  #refuseIfClosed(): void {
    if (this.#closed) throw new EngineClosedError()
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
    this.#closed = true
    await this.#committer.finish()
    this.#committer.close()
    this.#waiters.close()
    await this.#clock?.stop()
    this.#unsubscribe()
    this.#release()
    if (this.#options.notifier === undefined) await this.#notifier.close()
    if (this.#options.keepStoreOpen !== true) await this.#store.close()
  }
}

function environmentOf(options: EngineOptions): Environment {
  return options.environment ?? systemEnvironment(options.log ?? consoleLog)
}

/** An environment that was passed in brings its own clock. */
function storeClock(store: Store, options: EngineOptions): StoreClock | null {
  const read = store.clock?.bind(store)
  return options.environment === undefined && read !== undefined
    ? new StoreClock(environmentOf(options), read)
    : null
}

function notifierOf(store: Store, env: Environment): Notifier {
  return store.notifier?.(env.log) ?? localNotifier(store)
}

function checkQueues(queues: unknown): readonly string[] {
  if (Array.isArray(queues) && queues.length > 0) return queues.map((queue) => checkName(queue, 'A queue'))
  throw new InvalidArgumentError('`queues` is a list of at least one queue; leave it out to work on all.')
}

function checkFilter({ status, since, until }: Partial<RunFilter>): void {
  if (status !== undefined && !Array.isArray(status)) {
    throw new InvalidArgumentError("The status of listRuns is a list, e.g. ['failed', 'cancelled'].")
  }
  for (const time of [since, until]) {
    if (time === undefined || Number.isFinite(time)) continue
    throw new InvalidArgumentError('since and until of listRuns are epoch milliseconds.')
  }
}

function checkStore(store: unknown): Store {
  const isStore = typeof store === 'object' && store !== null && 'commit' in store && 'claim' in store
  if (isStore) return store as Store
  throw new InvalidArgumentError("createEngine needs a store, e.g. { store: sqlite('work.db') }.")
}
