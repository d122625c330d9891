import { randomUUID } from 'node:crypto'
import { getSingletonServices } from '@pikku/core/ecosystem'
import type {
  ConfigValidationResult,
  JobOptions,
  QueueConfigMapping,
  QueueJob,
  QueueJobStatus,
  QueueService,
  QueueWorkers,
} from '@pikku/core/queue'
import { registerQueueWorkers } from '@pikku/core/queue'
import { decodeError } from '../core/error-codec.ts'
import type { RunRecord } from '../core/run.ts'
import type { Engine } from '../engine/api.ts'
import { CALL_QUEUE } from './call-workflow.ts'
import { jobEngine, type PerdureQueueOptions } from './job-engine.ts'
import { JOB_STEP, type JobInput, jobWorkflow } from './job-workflow.ts'
import { decode, encode } from './values.ts'

type QueueJobMetadata = Awaited<ReturnType<NonNullable<QueueJob['metadata']>>>

const MAX_PRIORITY = 1_000_000

/**
 * Pikku's queues on a Perdure store. A job is durable when `add` resolves, and is executed at least once: if its worker dies,
 * another one executes it again, which uses up none of its attempts.
 *
 * Use it as the queue service, and call `registerQueues()` in processes that are to work on the queues wired in them.
 *
 * @throws InvalidArgumentError, InvalidDurationError for options that cannot be used
 * @example
 * const queueService = new PerdureQueueService({ store: sqlite('app.db') })
 * await queueService.registerQueues()
 */
export class PerdureQueueService implements QueueService, QueueWorkers {
  readonly name = 'Perdure'
  readonly supportsResults = true
  readonly configMappings: QueueConfigMapping = configMappings
  /** The engine that keeps and executes the jobs. */
  readonly engine: Engine
  readonly #concurrency: number | undefined

  constructor(options: PerdureQueueOptions) {
    this.engine = jobEngine(options)
    this.#concurrency = options.concurrency
  }

  /**
   * Adds a job. With a `jobId`, a second one of this id is not added, as long as the first is kept.
   * @returns the job's id
   * @throws StoreError if the store cannot be reached; InvalidNameError for ids that are too long
   */
  async add<Data>(queueName: string, data: Data, options: JobOptions = {}): Promise<string> {
    const { jobId = randomUUID(), attempts = 1, backoff, delay, priority, pikkuUserId } = options
    // Through the codec first: what only JSON can say is said by JSON.
    const kept = decode<unknown>(encode(data, `The data of a job of queue "${queueName}"`))
    const input: JobInput = { jobId, queue: queueName, data: kept, pikkuUserId, attempts, backoff }
    await this.engine.startWorkflow(jobWorkflow, input, {
      id: runIdOf(queueName, jobId),
      queue: queueName,
      ...(delay !== undefined && { delay }),
      ...(priority !== undefined && { priority: within(priority) }),
    })
    return jobId
  }

  async getJob<Data, Result>(queueName: string, jobId: string): Promise<QueueJob<Data, Result> | null> {
    const id = runIdOf(queueName, jobId)
    const run = await this.engine.getRun(id)
    if (run === null) return null
    const { data, pikkuUserId } = decode<JobInput>(run.input)
    const handle = this.engine.getHandle<Result>(id)
    return {
      id: jobId,
      queueName,
      data: data as Data,
      ...(run.status === 'completed' && { result: decode<Result>(run.output ?? '') }),
      ...(pikkuUserId !== undefined && { pikkuUserId }),
      status: async () => statusOf((await this.engine.getRun(id)) ?? run),
      waitForCompletion: async (ttl) => await handle.result(ttl === undefined ? {} : { timeout: ttl }),
      metadata: async () => await this.#metadata(id),
    }
  }

  /** Begins to work on the queues that are wired in this process, and to make the calls that were scheduled. */
  async registerQueues(): Promise<Record<string, ConfigValidationResult[]>> {
    const queues: string[] = [CALL_QUEUE]
    const { logger } = getSingletonServices()
    const results = await registerQueueWorkers(this.configMappings, logger, async (queueName) => {
      queues.push(queueName)
    })
    await this.engine.work({
      queues,
      ...(this.#concurrency !== undefined && { concurrency: this.#concurrency }),
    })
    return results
  }

  /** Lets jobs that run end for ten seconds, and hands back what is left. */
  async close(): Promise<void> {
    await this.engine.close()
  }

  async #metadata(id: string): Promise<QueueJobMetadata> {
    const { run, entries } = await this.engine.getHandle(id).history()
    const { attempts: maxAttempts } = decode<JobInput>(run.input)
    const step = entries.find(({ name }) => name === JOB_STEP)
    const failed = step?.attempts.length ?? 0
    const progress = entries.find(({ kind }) => kind === 'checkpoint')?.result
    return {
      createdAt: new Date(run.createdAt),
      maxAttempts,
      attemptsMade: failed + (step?.status === 'succeeded' ? 1 : 0),
      ...(progress !== undefined && { progress: progress as string }),
      ...(run.startedAt !== null && { processedAt: new Date(run.startedAt) }),
      ...(run.endedAt !== null && endedAt(run, run.endedAt)),
    }
  }
}

function endedAt({ status, error }: RunRecord, at: number): Partial<QueueJobMetadata> {
  if (status === 'completed') return { completedAt: new Date(at) }
  const failure = error === null ? null : decodeError(error)
  return { failedAt: new Date(at), error: failure instanceof Error ? failure.message : String(failure) }
}

function runIdOf(queueName: string, jobId: string): string {
  return `pikku:job:${queueName}:${jobId}`
}

function within(priority: number): number {
  return Math.max(-MAX_PRIORITY, Math.min(MAX_PRIORITY, Math.round(priority)))
}

function statusOf({ status, startedAt, dueAt }: RunRecord): QueueJobStatus {
  switch (status) {
    case 'running':
      return 'active'
    case 'completed':
      return 'completed'
    case 'failed':
    case 'cancelled':
      return 'failed'
    case 'pending':
    case 'waiting':
    case 'paused':
      return startedAt === null && (dueAt === null || dueAt <= Date.now()) ? 'waiting' : 'delayed'
  }
}

const byTheService = (option: string) => ({
  reason: 'It is said for all queues at once',
  explanation: `See the option ${option} of PerdureQueueService.`,
})
const notNeeded = {
  reason: 'Perdure needs no such setting',
  explanation:
    'Workers learn of new jobs at once, and those of dead workers are taken over after their lease.',
}
const notThere = {
  reason: 'There is nothing like it',
  explanation: 'Jobs are kept by time, and not grouped.',
}

const configMappings: QueueConfigMapping = {
  supported: {},
  unsupported: {
    batchSize: byTheService('concurrency'),
    pollInterval: byTheService('pollInterval'),
    visibilityTimeout: byTheService('lease'),
    lockDuration: byTheService('lease'),
    prefetch: notNeeded,
    drainDelay: notNeeded,
    maxStalledCount: notNeeded,
    name: notNeeded,
    autorun: notNeeded,
    removeOnComplete: notThere,
    removeOnFail: notThere,
    groupConcurrency: notThere,
  },
  fallbacks: {},
}
