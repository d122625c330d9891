import type { JobsOptions, QueueEvents, Worker } from 'bullmq'
import { decodeValue, encodeValue } from '../../core/codec.ts'
import { type Duration, parseDuration } from '../../core/duration.ts'
import { InvalidArgumentError, WaitTimeoutError } from '../../core/errors.ts'
import { DEFAULT_MAX_VALUE_BYTES } from '../../core/limits.ts'
import { consoleLog, type Log } from '../../index.ts'
import type { JobHandler, JobOptions, JobStatus, ProcessOptions, QueueAdapter } from '../adapter.ts'
import { JobCancelledError, JobFailedError, JobNotFoundError, QueueClosedError } from '../errors.ts'
import { checkJobType, jobIdOf, jobTypeOf } from '../job-id.ts'
import { type JobPlan, planOf, type RepeatPlan, wholeNumber } from '../job-options.ts'
import { cancelledData, cancelPending, forgetCancelled, type Lane } from './cancellation.ts'
import { Driver, type RedisServer, reaching } from './driver.ts'
import { processorOf, settings } from './handling.ts'
import { failureOf, type RedisJob, type StoredJob, statusOf } from './stored-job.ts'

/** The configuration of the `redis` adapter. Durations: milliseconds, or text such as `'90s'`. */
export interface RedisQueueConfig {
  /** A URL such as `'redis://localhost:6379'`, or the options of an `ioredis` client. */
  readonly url: RedisServer
  /** What its keys begin with. Default `'perdure'`. */
  readonly prefix?: string
  /** How long ended jobs and their ids are kept. Default 24 hours. */
  readonly retention?: Duration
  /** After this time without a sign of life, the jobs of a process are given to others. Default 15 seconds. */
  readonly lease?: Duration
  /** How often the processes that run a job may die before it fails. Default 10. */
  readonly maxDeaths?: number
  /** Default: warnings and errors to standard error. */
  readonly log?: Log
}

const DEFAULT_CONCURRENCY = 10
const MIN_LEASE_MS = 100
/** A day: what BullMQ makes of it goes into timers, which end at 24 days. */
const MAX_LEASE_MS = 86_400_000
/** So long may goodbyes to a Redis take that does not answer. */
const GOODBYE_MS = 2000
/** How often somebody who waits for a result looks by himself: events may be missed. */
const LOOK_MS = 1000
/** So often may another process be faster with the same id before enqueueing gives up. */
const MAX_TRIES = 10

/**
 * Jobs in Redis, by way of BullMQ: one of its queues per job type. They are as durable as that Redis: with
 * `appendfsync everysec` a power loss may take the last second, with `maxmemory-policy` other than `noeviction` anything.
 */
export class RedisQueueAdapter implements QueueAdapter {
  readonly supportsRepeat = true
  readonly #driver: Driver
  readonly #retention: number
  readonly #lease: number
  readonly #maxDeaths: number
  readonly #log: Log
  /** By the URI-encoded job type, which is the name of BullMQ's queue. */
  readonly #lanes = new Map<string, Promise<Lane>>()
  readonly #events = new Map<string, Promise<QueueEvents>>()
  readonly #workers = new Map<string, Worker | null>()
  /** Those who wait for a job, by its id. */
  readonly #waiters = new Map<string, Set<() => void>>()
  readonly #abort = new AbortController()
  #closing: Promise<void> | null = null

  constructor(config: RedisQueueConfig) {
    const { url, prefix = 'perdure', retention = '24h', lease = '15s' } = config ?? {}
    this.#driver = new Driver(url, prefix)
    this.#retention = parseDuration(retention, 'The retention of the redis adapter')
    this.#lease = wholeNumber(
      parseDuration(lease, 'The lease of the redis adapter'),
      'The lease of the redis adapter, in ms,',
      MIN_LEASE_MS,
      MAX_LEASE_MS,
    )
    this.#maxDeaths = wholeNumber(config.maxDeaths ?? 10, 'maxDeaths', 1, 1_000_000)
    this.#log = config.log ?? consoleLog
  }

  async enqueue(jobType: string, payload: unknown, options: JobOptions = {}): Promise<string | null> {
    this.#refuseIfClosed()
    const plan = planOf(options, this.supportsRepeat)
    const { text: id, jobType: type } = jobIdOf(jobType, plan.key ?? crypto.randomUUID())
    const what = `The payload of job ${id}`
    const encoded = encodeValue(payload, { what, maxBytes: DEFAULT_MAX_VALUE_BYTES })
    const data: StoredJob = { payload: encoded, retry: plan.retry, token: crypto.randomUUID() }
    const lane = await this.#lane(type)
    if (plan.repeat !== null) return await this.#repeat(lane, id, plan.repeat, data)
    if (plan.key === null) {
      await reaching(lane.queue.add(type, data, this.#jobOptions(id, plan)))
      return id
    }
    return await this.#enqueueOnce(lane, id, data, plan)
  }

  async process(jobType: string, handler: JobHandler, options: ProcessOptions = {}): Promise<void> {
    this.#refuseIfClosed()
    const type = checkJobType(jobType)
    if (typeof handler !== 'function')
      throw new InvalidArgumentError(`The handler of "${type}" is a function.`)
    if (this.#workers.has(type)) throw new InvalidArgumentError(`Jobs of type "${type}" are handled already.`)
    const { concurrency = DEFAULT_CONCURRENCY } = options
    wholeNumber(concurrency, 'The concurrency of a handler', 1, 1_000_000)
    this.#workers.set(type, null)
    const processor = processorOf(handler, type, this.#abort.signal)
    let worker: Worker | null = null
    try {
      worker = await this.#driver.worker(encodeURIComponent(type), processor, {
        ...{ concurrency, settings, lockDuration: this.#lease, maxStalledCount: this.#maxDeaths },
        stalledInterval: this.#lease / 2,
      })
      await reaching(worker.waitUntilReady())
      this.#workers.set(type, worker)
    } catch (error) {
      this.#workers.delete(type)
      await worker?.close(true)
      throw error
    }
  }

  async getJobStatus(id: string): Promise<JobStatus> {
    this.#refuseIfClosed()
    const lane = await this.#laneOf(id)
    if (lane === null) return 'not_found'
    const job = await this.#find(lane, id)
    const status = job === null ? 'unknown' : await reaching(statusOf(job))
    if (status !== 'unknown') return status
    if ((await reaching(cancelledData(lane, id))) !== null) return 'cancelled'
    return (await reaching(lane.queue.getJobScheduler(id))) === undefined ? 'not_found' : 'pending'
  }

  async cancelJob(id: string): Promise<boolean> {
    this.#refuseIfClosed()
    const lane = await this.#laneOf(id)
    if (lane === null) return false
    const cancelled = await reaching(cancelPending(lane, id, this.#retention))
    if (cancelled) this.#wake(id)
    return cancelled || (await reaching(lane.queue.removeJobScheduler(id)))
  }

  async waitForResult(id: string, timeout?: Duration): Promise<unknown> {
    this.#refuseIfClosed()
    const ms = timeout === undefined ? null : parseDuration(timeout, 'The timeout of waitForResult')
    const until = ms === null ? Number.POSITIVE_INFINITY : performance.now() + ms
    const lane = await this.#laneOf(id)
    if (lane === null) throw new JobNotFoundError(id)
    for (;;) {
      const heard = this.#hear(id)
      try {
        const status = await this.getJobStatus(id)
        if (status === 'completed' || status === 'failed') return await this.#resultOf(lane, id)
        if (status === 'cancelled') throw new JobCancelledError(id)
        if (status === 'not_found') throw new JobNotFoundError(id)
        const left = until - performance.now()
        if (left <= 0)
          throw new WaitTimeoutError(`Job ${id} did not end within ${ms} ms. It goes on; wait again.`)
        await this.#listen(lane.queue.name)
        await heard.within(Math.min(LOOK_MS, left))
      } finally {
        heard.end()
      }
    }
  }

  async shutdown({ timeout = '10s' }: { readonly timeout?: Duration } = {}): Promise<void> {
    const ms = parseDuration(timeout, 'The timeout of shutdown')
    this.#closing ??= this.#shutDown(ms)
    await this.#closing
  }

  /** Adds a job unless its id is taken: see `QueueAdapter.enqueue`. */
  async #enqueueOnce(lane: Lane, id: string, data: StoredJob, plan: JobPlan): Promise<string | null> {
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      const kept = await reaching(cancelledData(lane, id))
      const wanted: StoredJob = kept === null ? data : { ...JSON.parse(kept), token: data.token }
      await reaching(lane.queue.add(decodeURIComponent(lane.queue.name), wanted, this.#jobOptions(id, plan)))
      if (kept !== null) await reaching(forgetCancelled(lane, id))
      const job = await this.#find(lane, id)
      if (wanted.payload !== data.payload || (job !== null && job.data.payload !== data.payload)) {
        this.#log.warn('a job id was used again with another payload; the first is kept', { job: id })
      }
      if (job?.data.token === data.token) return id
      const taken = job === null ? 'moved on' : await reaching(this.#again(job))
      if (taken !== 'moved on') return taken === 'pending' ? id : null
    }
    throw new InvalidArgumentError(`Job ${id} is enqueued and ended too often at once.`)
  }

  /** What becomes of a job whose id is enqueued again. */
  async #again(job: RedisJob): Promise<'pending' | 'taken' | 'moved on'> {
    const status = await statusOf(job)
    if (status === 'pending') return 'pending'
    if (status === 'running' || status === 'completed') return 'taken'
    try {
      if (status === 'unknown') await job.remove()
      else await job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true })
      return status === 'unknown' ? 'moved on' : 'pending'
    } catch {
      // Somebody else was faster: then its state says what it is now.
      return 'moved on'
    }
  }

  async #repeat(lane: Lane, id: string, repeat: RepeatPlan, data: StoredJob): Promise<string> {
    const every =
      'every' in repeat
        ? { every: repeat.every }
        : { pattern: repeat.pattern, ...(repeat.timezone !== undefined && { tz: repeat.timezone }) }
    const { jobId: _, ...opts } = this.#jobOptions(id, { retry: data.retry, delay: 0, priority: 0 })
    const template = { name: decodeURIComponent(lane.queue.name), data, opts }
    await reaching(lane.queue.upsertJobScheduler(id, every, template))
    return id
  }

  #jobOptions(
    id: string,
    { retry, delay, priority }: Pick<JobPlan, 'retry' | 'delay' | 'priority'>,
  ): JobsOptions {
    const kept = { age: Math.ceil(this.#retention / 1000) }
    return {
      ...{ jobId: id, delay, priority, attempts: retry.retries + 1, backoff: { type: 'custom' } },
      ...{ removeOnComplete: kept, removeOnFail: kept },
    }
  }

  /** The job, or `null` if there is none, or its retention is over: BullMQ itself forgets only when others end. */
  async #find({ queue }: Lane, id: string): Promise<RedisJob | null> {
    const job: RedisJob | undefined = await reaching(queue.getJob(id))
    if (job === undefined) return null
    if (job.finishedOn === undefined || job.finishedOn + this.#retention > Date.now()) return job
    await reaching(job.remove()).catch(() => {})
    return null
  }

  async #resultOf(lane: Lane, id: string): Promise<unknown> {
    const job = await this.#find(lane, id)
    if (job === null) throw new JobNotFoundError(id)
    if (job.failedReason !== undefined && job.returnvalue === null)
      throw new JobFailedError(id, failureOf(job))
    return decodeValue(job.returnvalue)
  }

  async #laneOf(id: string): Promise<Lane | null> {
    const type = jobTypeOf(id)
    return type === null || type === '' ? null : await this.#lane(type)
  }

  async #lane(type: string): Promise<Lane> {
    const name = encodeURIComponent(type)
    const lane = this.#lanes.get(name) ?? this.#driver.lane(name)
    this.#lanes.set(name, lane)
    return await lane
  }

  /** Hears of jobs of this queue that end, from now on. */
  async #listen(name: string): Promise<void> {
    const known = this.#events.get(name)
    const events = known ?? this.#driver.events(name)
    this.#events.set(name, events)
    if (known !== undefined) return
    const wake = ({ jobId }: { readonly jobId: string }): void => this.#wake(jobId)
    ;(await events).on('completed', wake).on('failed', wake).on('removed', wake)
  }

  /** Hears of the end of a job, between this call and `end`. */
  #hear(id: string): { within(ms: number): Promise<void>; end(): void } {
    let wake = (): void => {}
    const heard = new Promise<void>((resolve) => {
      wake = resolve
    })
    const all = this.#waiters.get(id) ?? new Set()
    this.#waiters.set(id, all.add(wake))
    let timer: NodeJS.Timeout | undefined
    return {
      within: async (ms) => {
        timer = setTimeout(wake, ms)
        await heard
      },
      end: () => {
        clearTimeout(timer)
        all.delete(wake)
        if (all.size === 0) this.#waiters.delete(id)
      },
    }
  }

  #wake(id: string): void {
    for (const wake of this.#waiters.get(id) ?? []) wake()
  }

  async #shutDown(ms: number): Promise<void> {
    const workers = [...this.#workers.values()].filter((worker) => worker !== null)
    await atMost(ms, Promise.all(workers.map((worker) => worker.close())))
    this.#abort.abort(new QueueClosedError())
    for (const id of [...this.#waiters.keys()]) this.#wake(id)
    const rest = [
      ...this.#events.values(),
      ...[...this.#lanes.values()].map(async (lane) => (await lane).queue),
    ]
    const goodbyes = [
      ...workers.map((worker) => worker.close(true)),
      ...rest.map(async (item) => await (await item).close()),
    ]
    await atMost(GOODBYE_MS, Promise.allSettled(goodbyes))
    this.#driver.close()
  }

  #refuseIfClosed(): void {
    if (this.#closing !== null) throw new QueueClosedError()
  }
}

/** Waits for something, but no longer than that; not for whether it went well. */
async function atMost(ms: number, done: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([done, late]).catch(() => {})
  clearTimeout(timer)
}
