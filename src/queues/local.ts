import { decodeValue, encodeValue } from '../core/codec.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { decodeError, encodeError } from '../core/error-codec.ts'
import { InvalidArgumentError, WaitTimeoutError } from '../core/errors.ts'
import { DEFAULT_MAX_VALUE_BYTES } from '../core/limits.ts'
import { decideRetry } from '../core/retry.ts'
import { consoleLog, type Environment, systemEnvironment } from '../index.ts'
import type { JobHandler, JobOptions, JobStatus, ProcessOptions, QueueAdapter } from './adapter.ts'
import {
  JobCancelledError,
  JobFailedError,
  JobNotFoundError,
  NoHandlerError,
  QueueClosedError,
} from './errors.ts'
import { Expiry } from './expiry.ts'
import { checkJobType, jobIdOf } from './job-id.ts'
import { type JobRetry, planOf, wholeNumber } from './job-options.ts'

/** The configuration of the `local` adapter. Durations: milliseconds, or text such as `'90s'`. */
export interface LocalQueueConfig {
  /** How long ended jobs and their ids are remembered. Default 24 hours. */
  readonly retention?: Duration
  /** How long a job that is due waits for a handler to come before it fails. Default 1 minute. */
  readonly handlerTimeout?: Duration
  /** Time, ids and a log; for tests. Default: the system's. */
  readonly environment?: Environment
}

interface Job {
  readonly id: string
  readonly type: string
  readonly payload: string
  readonly priority: number
  readonly retry: JobRetry
  status: Exclude<JobStatus, 'not_found'>
  attempt: number
  /** The encoded result, or error. */
  outcome: string
  readonly waiters: Set<() => void>
  /** Ends what the job waits for by itself: a delay, or a handler. */
  cancelTimer: () => void
}

interface Handling {
  readonly handler: JobHandler
  readonly concurrency: number
  running: number
}

const DAY = 24 * 3_600_000
const DEFAULT_CONCURRENCY = 10

/** Jobs in the memory of this process. They die with it. */
export class LocalQueueAdapter implements QueueAdapter {
  readonly supportsRepeat = false
  readonly #env: Environment
  readonly #retained: Expiry<Job>
  readonly #handlerTimeout: number
  readonly #jobs = new Map<string, Job>()
  readonly #handlers = new Map<string, Handling>()
  /** What is due, by type and then priority, each in the order in which it came due. */
  readonly #due = new Map<string, Map<number, Set<Job>>>()
  readonly #abort = new AbortController()
  #closing: Promise<void> | null = null
  #onIdle: () => void = () => {}

  constructor(config: LocalQueueConfig = {}) {
    const { retention = DAY, handlerTimeout = 60_000, environment } = config
    this.#env = environment ?? systemEnvironment(consoleLog)
    const retentionMs = parseDuration(retention, 'The retention of the local queue')
    this.#retained = new Expiry(this.#env, retentionMs, (job) => this.#jobs.delete(job.id))
    this.#handlerTimeout = parseDuration(handlerTimeout, 'The handlerTimeout of the local queue')
  }

  async enqueue(jobType: string, payload: unknown, options: JobOptions = {}): Promise<string | null> {
    this.#refuseIfClosed()
    const plan = planOf(options, this.supportsRepeat)
    const { text: id, jobType: type } = jobIdOf(jobType, plan.key ?? this.#env.uuid('job'))
    const encoded = encodeValue(payload, {
      what: `The payload of job ${id}`,
      maxBytes: DEFAULT_MAX_VALUE_BYTES,
    })
    const existing = this.#jobs.get(id)
    if (existing !== undefined) return this.#again(existing, encoded)
    const { priority, retry } = plan
    const job: Job = {
      ...{ id, type, payload: encoded, priority, retry },
      ...{ status: 'pending', attempt: 1, outcome: '', waiters: new Set(), cancelTimer: () => {} },
    }
    this.#jobs.set(id, job)
    this.#dueIn(job, plan.delay)
    return id
  }

  async process(jobType: string, handler: JobHandler, options: ProcessOptions = {}): Promise<void> {
    this.#refuseIfClosed()
    const type = checkJobType(jobType)
    if (typeof handler !== 'function')
      throw new InvalidArgumentError(`The handler of "${type}" is a function.`)
    if (this.#handlers.has(type))
      throw new InvalidArgumentError(`Jobs of type "${type}" are handled already.`)
    const { concurrency = DEFAULT_CONCURRENCY } = options
    wholeNumber(concurrency, 'The concurrency of a handler', 1, Number.MAX_SAFE_INTEGER)
    this.#handlers.set(type, { handler, concurrency, running: 0 })
    this.#fill(type)
  }

  async getJobStatus(id: string): Promise<JobStatus> {
    this.#refuseIfClosed()
    return this.#jobs.get(id)?.status ?? 'not_found'
  }

  async cancelJob(id: string): Promise<boolean> {
    this.#refuseIfClosed()
    const job = this.#jobs.get(id)
    if (job?.status !== 'pending') return false
    this.#due.get(job.type)?.get(job.priority)?.delete(job)
    this.#end(job, 'cancelled', '')
    return true
  }

  async waitForResult(id: string, timeout?: Duration): Promise<unknown> {
    this.#refuseIfClosed()
    const ms = timeout === undefined ? null : parseDuration(timeout, 'The timeout of waitForResult')
    const job = this.#jobs.get(id)
    if (job === undefined) throw new JobNotFoundError(id)
    if (!isEnded(job)) await this.#ended(job, ms)
    if (job.status === 'completed') return decodeValue(job.outcome)
    if (job.status === 'failed') throw new JobFailedError(id, decodeError(job.outcome))
    if (job.status === 'cancelled') throw new JobCancelledError(id)
    throw new QueueClosedError()
  }

  async shutdown({ timeout = '10s' }: { readonly timeout?: Duration } = {}): Promise<void> {
    const ms = parseDuration(timeout, 'The timeout of shutdown')
    this.#closing ??= this.#shutDown(ms)
    await this.#closing
  }

  /** A job whose id is taken: see `QueueAdapter.enqueue`. */
  #again(job: Job, payload: string): string | null {
    if (job.payload !== payload) {
      this.#env.log.warn('a job id was used again with another payload; the first is kept', { job: job.id })
    }
    if (job.status === 'pending') return job.id
    if (job.status === 'running' || job.status === 'completed') return null
    this.#retained.delete(job)
    Object.assign(job, { status: 'pending', attempt: 1, outcome: '' })
    this.#dueIn(job, 0)
    return job.id
  }

  #dueIn(job: Job, delay: number): void {
    job.cancelTimer()
    if (delay > 0) job.cancelTimer = this.#env.setTimer(delay, () => this.#isDue(job))
    else this.#isDue(job)
  }

  #isDue(job: Job): void {
    if (this.#closing !== null) return
    const byPriority = this.#due.get(job.type) ?? new Map<number, Set<Job>>()
    this.#due.set(job.type, byPriority)
    const sameFirst = byPriority.get(job.priority) ?? new Set()
    byPriority.set(job.priority, sameFirst.add(job))
    job.cancelTimer = () => {}
    this.#fill(job.type)
    if (job.status !== 'pending' || this.#handlers.has(job.type)) return
    const noHandler = (): void => {
      if (this.#handlers.has(job.type)) return
      sameFirst.delete(job)
      this.#end(job, 'failed', encodeError(new NoHandlerError(job.type)))
    }
    job.cancelTimer = this.#env.setTimer(this.#handlerTimeout, noHandler, { background: true })
  }

  /** Starts due jobs of a type while there is room. */
  #fill(type: string): void {
    const handling = this.#handlers.get(type)
    while (handling !== undefined && handling.running < handling.concurrency && this.#closing === null) {
      const job = this.#next(type)
      if (job === null) return
      job.cancelTimer()
      job.status = 'running'
      handling.running += 1
      void this.#run(job, handling)
    }
  }

  #next(type: string): Job | null {
    const byPriority = this.#due.get(type)
    for (const priority of [...(byPriority?.keys() ?? [])].sort((a, b) => a - b)) {
      const jobs = byPriority?.get(priority)
      const [first] = jobs ?? []
      if (first !== undefined) jobs?.delete(first)
      if (jobs?.size === 0) byPriority?.delete(priority)
      if (first !== undefined) return first
    }
    return null
  }

  async #run(job: Job, handling: Handling): Promise<void> {
    const { id, type, attempt } = job
    try {
      const context = { id, jobType: type, attempt, signal: this.#abort.signal }
      const result = await handling.handler(decodeValue(job.payload) as never, context)
      const what = `The result of job ${id}`
      this.#end(job, 'completed', encodeValue(result, { what, maxBytes: DEFAULT_MAX_VALUE_BYTES }))
    } catch (error) {
      this.#failed(job, error)
    }
    handling.running -= 1
    this.#fill(type)
    if (this.#running === 0) this.#onIdle()
  }

  #failed(job: Job, error: unknown): void {
    const random = this.#env.random('job')
    const decision = decideRetry({ policy: job.retry, attempt: job.attempt, error, random })
    if (!decision.retry) {
      this.#end(job, 'failed', encodeError(error))
      return
    }
    job.status = 'pending'
    job.attempt += 1
    this.#dueIn(job, decision.delayMs)
  }

  #end(job: Job, status: 'completed' | 'failed' | 'cancelled', outcome: string): void {
    job.cancelTimer()
    job.status = status
    job.outcome = outcome
    for (const wake of job.waiters) wake()
    this.#retained.add(job)
  }

  /** Resolves when a job has ended, or the adapter was shut down. */
  async #ended(job: Job, ms: number | null): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const late = (): void => {
        job.waiters.delete(wake)
        reject(new WaitTimeoutError(`Job ${job.id} did not end within ${ms} ms. It goes on; wait again.`))
      }
      const cancelTimer = ms === null ? () => {} : this.#env.setTimer(ms, late)
      const wake = (): void => {
        cancelTimer()
        job.waiters.delete(wake)
        resolve()
      }
      job.waiters.add(wake)
    })
  }

  get #running(): number {
    return [...this.#handlers.values()].reduce((sum, { running }) => sum + running, 0)
  }

  async #shutDown(ms: number): Promise<void> {
    // From here on it counts as closing.
    await Promise.resolve()
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
    if (this.#running > 0) {
      const cancelTimer = this.#env.setTimer(ms, () => this.#onIdle())
      await idle
      cancelTimer()
    }
    this.#abort.abort(new QueueClosedError())
    this.#retained.stop()
    const left = [...this.#jobs.values()].filter((job) => !isEnded(job))
    if (left.length > 0)
      this.#env.log.warn('the local queue was shut down with jobs left', { jobs: left.length })
    for (const job of this.#jobs.values()) {
      job.cancelTimer()
      for (const wake of job.waiters) wake()
    }
  }

  #refuseIfClosed(): void {
    if (this.#closing !== null) throw new QueueClosedError()
  }
}

function isEnded({ status }: Job): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}
