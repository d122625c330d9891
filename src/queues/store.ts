import { encodeValue } from '../core/codec.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { InvalidArgumentError, isPerdureError, RunCancelledError, RunFailedError } from '../core/errors.ts'
import { DEFAULT_MAX_VALUE_BYTES } from '../core/limits.ts'
import type { RunRecord } from '../core/run.ts'
import {
  consoleLog,
  declareWorkflow,
  defineWorkflow,
  type Engine,
  type Log,
  type RunHandle,
  type Workflow,
  type WorkflowContext,
} from '../index.ts'
import type { JobHandler, JobOptions, JobStatus, ProcessOptions, QueueAdapter } from './adapter.ts'
import { JobCancelledError, JobFailedError, JobNotFoundError, QueueClosedError } from './errors.ts'
import { checkJobType, jobIdOf } from './job-id.ts'
import { type JobPlan, type JobRetry, planOf, wholeNumber } from './job-options.ts'
import { Slots } from './slots.ts'

/** The configuration of the `store` adapter. */
export interface StoreQueueConfig {
  /** Its store keeps the jobs, as runs of the workflows `job:<type>`. It must `work()` where jobs are to be handled. */
  readonly engine: Engine
  /** How long ended jobs and their ids are kept. Default: as the engine keeps runs. */
  readonly retention?: Duration
  /** Default: warnings and errors to standard error. */
  readonly log?: Log
}

interface JobInput {
  readonly payload: unknown
  /** Left out for one attempt. */
  readonly retry?: JobRetry
}

/** So often may another process be faster with the same id before enqueueing gives up. */
const MAX_TRIES = 10

/**
 * Jobs that are runs of an engine: as durable as its store, shown by its tools, without a server beside it. They are
 * executed until the engine is closed; `shutdown` only ends what goes through this adapter.
 */
export class StoreQueueAdapter implements QueueAdapter {
  readonly supportsRepeat = false
  readonly #engine: Engine
  readonly #retention: number | null
  readonly #log: Log
  /** The workflows that the engine knows through this adapter, by job type. */
  readonly #workflows = new Map<string, Workflow>()
  readonly #handled = new Set<string>()
  /** Those who wait for a result, to be told of the shutdown. */
  readonly #waiting = new Set<(error: Error) => void>()
  #closed = false

  constructor(config: StoreQueueConfig) {
    const { engine, retention, log = consoleLog } = config ?? {}
    if (typeof engine?.startWorkflow !== 'function' || typeof engine.register !== 'function') {
      throw new InvalidArgumentError(
        "The store adapter needs an engine: createQueueAdapter('store', { engine }).",
      )
    }
    this.#engine = engine
    this.#retention = retention === undefined ? null : parseDuration(retention, 'The retention of the queue')
    this.#log = log
  }

  async enqueue(jobType: string, payload: unknown, options: JobOptions = {}): Promise<string | null> {
    this.#refuseIfClosed()
    const plan = planOf(options, this.supportsRepeat)
    const { text: id, jobType: type } = jobIdOf(jobType, plan.key ?? crypto.randomUUID())
    encodeValue(payload, { what: `The payload of job ${id}`, maxBytes: DEFAULT_MAX_VALUE_BYTES })
    for (let tries = 1; ; tries += 1) {
      const handle = await this.#start(type, id, payload, plan)
      if (handle.created) return id
      if (handle.inputDiffers) {
        this.#log.warn('a job id was used again with another payload; the first is kept', { job: id })
      }
      const taken = await this.#again(id)
      if (taken !== 'moved on') return taken === 'pending' ? id : null
      if (tries === MAX_TRIES) {
        throw new InvalidArgumentError(
          `Job ${id} was cancelled and has not ended yet, or others enqueue it too. Enqueue it again when its worker has ended it.`,
        )
      }
    }
  }

  async process(jobType: string, handler: JobHandler, options: ProcessOptions = {}): Promise<void> {
    this.#refuseIfClosed()
    const type = checkJobType(jobType)
    if (typeof handler !== 'function')
      throw new InvalidArgumentError(`The handler of "${type}" is a function.`)
    if (this.#handled.has(type)) throw new InvalidArgumentError(`Jobs of type "${type}" are handled already.`)
    const { concurrency } = options
    const slots =
      concurrency === undefined
        ? null
        : new Slots(wholeNumber(concurrency, 'The concurrency of a handler', 1, Number.MAX_SAFE_INTEGER))
    const workflow = defineWorkflow(this.#named(type), async (context: WorkflowContext<JobInput>) => {
      const work = (): Promise<unknown> => handle(handler, type, context)
      return await (slots === null ? work() : slots.use(context.signal, work))
    })
    this.#engine.register(workflow)
    this.#handled.add(type)
    this.#workflows.set(type, workflow)
  }

  async getJobStatus(id: string): Promise<JobStatus> {
    const run = await this.#find(id)
    return run === null ? 'not_found' : statusOf(run)
  }

  async cancelJob(id: string): Promise<boolean> {
    const run = await this.#find(id)
    if (run === null || statusOf(run) !== 'pending') return false
    try {
      await this.#engine.cancel(id)
      return true
    } catch (error) {
      if (isPerdureError(error) && ['RUN_STATE', 'RUN_NOT_FOUND'].includes(error.code)) return false
      throw error
    }
  }

  async waitForResult(id: string, timeout?: Duration): Promise<unknown> {
    if ((await this.#find(id)) === null) throw new JobNotFoundError(id)
    try {
      return await this.#untilClosed(
        this.#engine.getHandle(id).result(timeout === undefined ? {} : { timeout }),
      )
    } catch (error) {
      if (error instanceof RunFailedError) throw new JobFailedError(id, error.cause)
      if (error instanceof RunCancelledError) throw new JobCancelledError(id)
      if (isPerdureError(error) && error.code === 'RUN_NOT_FOUND') throw new JobNotFoundError(id)
      throw error
    }
  }

  async shutdown(): Promise<void> {
    this.#closed = true
    for (const refuse of this.#waiting) refuse(new QueueClosedError())
  }

  async #untilClosed<Value>(promise: Promise<Value>): Promise<Value> {
    let refuse = (_: Error): void => {}
    const closed = new Promise<never>((_, reject) => {
      refuse = reject
    })
    this.#waiting.add(refuse)
    try {
      return await Promise.race([promise, closed])
    } finally {
      this.#waiting.delete(refuse)
    }
  }

  async #start(
    type: string,
    id: string,
    payload: unknown,
    { retry, delay, priority }: JobPlan,
  ): Promise<RunHandle> {
    const input: JobInput = retry.retries === 0 ? { payload } : { payload, retry }
    return await this.#engine.startWorkflow(this.#workflow(type), input, {
      id,
      delay,
      priority: 0 - priority,
    })
  }

  /** What becomes of a job whose id is enqueued again. */
  async #again(id: string): Promise<'pending' | 'taken' | 'moved on'> {
    const run = await this.#find(id)
    if (run === null) return 'moved on'
    const status = statusOf(run)
    if (status === 'pending') return 'pending'
    if (status === 'running' || status === 'completed') return 'taken'
    try {
      await this.#engine.revive(id)
      return 'pending'
    } catch (error) {
      if (isPerdureError(error) && ['RUN_STATE', 'RUN_NOT_FOUND'].includes(error.code)) return 'moved on'
      throw error
    }
  }

  /** The workflow of a job type; only declared, unless this process handles it. */
  #workflow(type: string): Workflow {
    const known = this.#workflows.get(type)
    if (known !== undefined) return known
    const declared = declareWorkflow(this.#named(type))
    this.#engine.register(declared)
    this.#workflows.set(type, declared)
    return declared
  }

  #named(type: string): { readonly name: string; readonly retention?: Duration } {
    const name = `job:${type}`
    return this.#retention === null ? { name } : { name, retention: this.#retention }
  }

  async #find(id: string): Promise<RunRecord | null> {
    this.#refuseIfClosed()
    const run = typeof id === 'string' && id.trim() !== '' ? await this.#engine.getRun(id) : null
    return run?.workflow.startsWith('job:') === true ? run : null
  }

  #refuseIfClosed(): void {
    if (this.#closed) throw new QueueClosedError()
  }
}

async function handle(
  handler: JobHandler,
  jobType: string,
  { input, run, step, signal }: WorkflowContext<JobInput>,
): Promise<unknown> {
  const { payload, retry } = input
  const job = { id: run.id, jobType }
  if (retry === undefined) return await handler(payload as never, { ...job, attempt: 1, signal })
  const { retries, initial, factor, max, jitter } = retry
  return await step.do('handle', (context) => handler(payload as never, { ...job, ...of(context) }), {
    retries,
    retryDelay: { initial, factor, max, jitter },
  })
}

function of({ attempt, signal }: { readonly attempt: number; readonly signal: AbortSignal }) {
  return { attempt, signal }
}

/** A run whose cancel was accepted ends as cancelled, whatever it is doing until then. */
function statusOf({ status, cancelReason }: RunRecord): JobStatus {
  if (status === 'completed' || status === 'failed' || status === 'cancelled') return status
  if (cancelReason !== null) return 'cancelled'
  return status === 'running' ? 'running' : 'pending'
}
