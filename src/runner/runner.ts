import {
  consoleLog,
  type Duration,
  type Engine,
  EngineClosedError,
  type Environment,
  InvalidArgumentError,
  InvalidNameError,
  parseDuration,
  RunNotFoundError,
  systemEnvironment,
  UnknownWorkflowError,
} from '../index.ts'
import type { QueueAdapter } from '../queues/adapter.ts'
import { createQueueAdapter } from '../queues/registry.ts'
import type { EnqueueOptions, RunnerOptions, RunnerWorkflow } from './api.ts'
import { checkKind, checkOptions } from './check.ts'
import { deferredWorkflow, fireAndForgetHandler } from './kinds.ts'
import { Running } from './running.ts'

const DEFAULT_STOP_TIMEOUT = '10s'

/** A registered kind. */
interface Kind {
  readonly workflow: RunnerWorkflow
  /** Resolves when work of it can be done here. */
  readonly ready: Promise<void>
}

/**
 * Work that is triggered by events, deduplicated by a key, and done in the background: at most one piece of work per key,
 * tried again on a schedule in minutes, going on from its checkpoints.
 *
 * The id that `enqueue` returns is that of a run: `engine.getHandle(id)` tells its status, result and history, and cancels it;
 * `engine.listRuns({ workflow: kind })` lists. Of fire-and-forget work, the queue adapter does.
 *
 * @example
 * const runner = new WorkflowRunner({ engine })
 * runner.register({
 *   kind: 'sync-order',
 *   dedupeKey: ({ orderId }) => orderId,
 *   retrySchedule: [1, 5, 30],
 *   prepare: async ({ orderId }, checkpoints, save) => {
 *     const order = checkpoints.order ?? (await fetchOrder(orderId))
 *     await save({ order })
 *     return await pushToErp(order)
 *   },
 * })
 * const id = await runner.enqueue('sync-order', { orderId: 'A-1' })
 */
export class WorkflowRunner {
  readonly #engine: Engine
  readonly #queue: QueueAdapter
  readonly #keepEngineOpen: boolean
  readonly #env: Environment
  readonly #sweepIntervalMs: number
  readonly #kinds = new Map<string, Kind>()
  readonly #running = new Running()
  #cancelSweep: () => void = () => {}
  #stopping: Promise<void> | null = null

  /** @throws InvalidArgumentError */
  constructor(options: RunnerOptions) {
    const { engine, queueAdapter, sweepIntervalMs, keepEngineOpen, environment } = checkOptions(options)
    this.#engine = engine
    this.#env = environment ?? systemEnvironment(consoleLog)
    this.#queue = queueAdapter ?? createQueueAdapter('store', { engine, log: this.#env.log })
    this.#keepEngineOpen = keepEngineOpen ?? false
    this.#sweepIntervalMs = sweepIntervalMs ?? 60_000
    this.#sweepLater()
  }

  /**
   * Makes a kind of work known, and begins to do what is there of it, also what an earlier process left.
   *
   * @returns the kind, as it was given
   * @throws InvalidArgumentError, InvalidNameError, InvalidDurationError, DuplicateWorkflowError: nothing was registered
   */
  register<Trigger, Output>(given: RunnerWorkflow<Trigger, Output>): RunnerWorkflow<Trigger, Output> {
    const workflow = this.#running.counting(checkKind(given) as RunnerWorkflow)
    const { kind, retrySchedule, concurrency } = workflow
    if (this.#kinds.has(kind)) throw new InvalidArgumentError(`The kind "${kind}" is registered already.`)
    if (retrySchedule === undefined) {
      const options = concurrency === undefined ? {} : { concurrency }
      const process = async () => await this.#queue.process(kind, fireAndForgetHandler(workflow), options)
      const ready = process()
      this.#kinds.set(kind, { workflow, ready })
      ready.catch((error: unknown) => this.#unregister(kind, error))
    } else {
      this.#engine.register(deferredWorkflow(workflow))
      this.#kinds.set(kind, { workflow, ready: Promise.resolve() })
      void this.#sweepQuietly([kind])
    }
    return given
  }

  /**
   * Asks for work.
   *
   * @returns the work's id. If the key is taken: the id, where that work is pending (it stays due when it was) or was abandoned
   * and is started over now, with the checkpoints and the trigger it has; `null` where it is in flight or done. A log line
   * tells when the trigger is another than the first.
   * @throws UnknownWorkflowError, InvalidNameError (the key), and what the store or the queue adapter throws: nothing was
   * enqueued
   */
  async enqueue<Trigger>(
    kind: string | RunnerWorkflow<Trigger, never>,
    trigger: Trigger,
    options: EnqueueOptions = {},
  ): Promise<string | null> {
    if (this.#stopping !== null)
      throw new EngineClosedError('This runner was stopped. Enqueue with another one.')
    const name = typeof kind === 'string' ? kind : kind?.kind
    const { workflow, ready } = this.#kinds.get(name) ?? unknownKind(name, [...this.#kinds.keys()])
    const key: unknown = workflow.dedupeKey(trigger)
    if (typeof key !== 'string') throw new InvalidNameError(`The dedupeKey of "${name}" must make a text.`)
    if (workflow.retrySchedule !== undefined) return await this.#defer(name, trigger, { ...options, key })
    await ready
    const { delay } = options
    return await this.#queue.enqueue(name, trigger, { jobId: key, ...(delay !== undefined && { delay }) })
  }

  /**
   * Looks now for deferred work that dead processes left.
   *
   * @param only these kinds; default: all
   * @returns the ids of the work that was freed, which is due again
   */
  async sweep(only?: string | readonly string[]): Promise<string[]> {
    const kinds = new Set(only === undefined ? this.#kinds.keys() : [only].flat())
    const freed = await this.#engine.sweep()
    const runs = await Promise.all(freed.map((id) => this.#engine.getRun(id)))
    return runs.flatMap((run) => (run !== null && kinds.has(run.workflow) ? [run.id] : []))
  }

  /**
   * Ends all that this runner does: no more sweeps; waits for what is running, `timeout` at most (default 10 seconds), and
   * hands deferred work that is not done back. Closes the queue adapter, and the engine unless `keepEngineOpen`. Idempotent.
   */
  async stop(options: { readonly timeout?: Duration } = {}): Promise<void> {
    const timeout = parseDuration(options.timeout ?? DEFAULT_STOP_TIMEOUT, 'The timeout of stop')
    this.#stopping ??= this.#stop(options, timeout)
    await this.#stopping
  }

  async #defer(
    kind: string,
    trigger: unknown,
    options: EnqueueOptions & { readonly key: string },
  ): Promise<string | null> {
    const handle = await this.#engine.startWorkflow(kind, trigger, options)
    if (handle.created) return handle.id
    if (handle.inputDiffers) {
      this.#env.log.warn('a key was used again with another trigger; the first is kept', {
        kind,
        run: handle.id,
      })
    }
    const status = (await this.#engine.getRun(handle.id))?.status
    // It was pruned since: the key is free.
    if (status === undefined) return await this.#defer(kind, trigger, options)
    if (status === 'pending' || status === 'paused') return handle.id
    if (status !== 'failed' && status !== 'cancelled') return null
    try {
      return (await this.#engine.startWorkflow(kind, trigger, { ...options, onConflict: 'revive' })).id
    } catch (error) {
      if (error instanceof RunNotFoundError) return await this.#defer(kind, trigger, options)
      throw error
    }
  }

  #unregister(kind: string, error: unknown): void {
    this.#kinds.delete(kind)
    this.#env.log.error('a kind cannot be processed and was unregistered', { kind, error: String(error) })
  }

  #sweepLater(): void {
    const sweep = async (): Promise<void> => {
      await this.#sweepQuietly()
      if (this.#stopping === null) this.#sweepLater()
    }
    this.#cancelSweep = this.#env.setTimer(this.#sweepIntervalMs, () => void sweep(), { background: true })
  }

  async #sweepQuietly(only?: readonly string[]): Promise<void> {
    try {
      await this.sweep(only)
    } catch (error) {
      if (this.#stopping === null) this.#env.log.error('a sweep failed', { error: String(error) })
    }
  }

  async #stop(options: { readonly timeout?: Duration }, timeout: number): Promise<void> {
    this.#cancelSweep()
    try {
      // Fire-and-forget work has only one attempt: it ends while the engine that it may use is still open.
      await this.#queue.shutdown(options)
    } finally {
      if (this.#keepEngineOpen) await this.#running.over(this.#env, timeout)
      else await this.#engine.close(options)
    }
  }
}

function unknownKind(kind: unknown, known: readonly string[]): never {
  const names = known.map((name) => `"${name}"`).join(', ') || 'none'
  const given = typeof kind === 'string' ? JSON.stringify(kind) : `of type ${typeof kind}`
  throw new UnknownWorkflowError(`No kind ${given} is registered in this runner (registered: ${names}).`)
}
