import type { Duration } from '../core/duration.ts'

/**
 * A transport for fire-and-forget jobs. All adapters give the same answers to the same questions; they differ in what
 * they outlive: see `createQueueAdapter`.
 */
export interface QueueAdapter {
  /** Whether `enqueue` takes `repeat`. */
  readonly supportsRepeat: boolean
  /**
   * Adds a job. When it resolves, the job is where the adapter keeps its jobs.
   *
   * @param jobType which handler it is for; such jobs may be enqueued where no handler is. At most 128 characters once
   * URI-encoded.
   * @param payload any value that the codec keeps (`Date`, `Map`, cycles, … included)
   * @returns the job's id, for the methods below. With a `jobId` that is taken: the id, if that job is pending, or has
   * failed or was cancelled and is started over now, with the payload that it was given first; `null` if it is running or done.
   * @throws InvalidNameError, InvalidArgumentError, InvalidDurationError, UnserializableValueError, ValueTooLargeError,
   * QueueClosedError: nothing was added. QueueUnavailableError: it may have been added nevertheless, or may be when the
   * server is back; enqueue again with the same `jobId`.
   */
  enqueue(jobType: string, payload: unknown, options?: JobOptions): Promise<string | null>
  /**
   * Begins to handle the jobs of a type in this process, also those that were enqueued before.
   * @throws InvalidArgumentError if the type has a handler here already; QueueClosedError, QueueUnavailableError
   */
  process(jobType: string, handler: JobHandler, options?: ProcessOptions): Promise<void>
  /** Where a job stands, whichever process enqueued it. What lies between two attempts is `pending`. */
  getJobStatus(id: string): Promise<JobStatus>
  /** Cancels a job that is pending. `false` if it is running, has ended, or does not exist: then nothing changes. */
  cancelJob(id: string): Promise<boolean>
  /**
   * Waits for a job to end, also if it has ended already, and returns what its handler returned.
   *
   * @param timeout how long to wait; default: as long as it takes
   * @throws JobFailedError with the handler's error as `cause`; JobCancelledError; JobNotFoundError; WaitTimeoutError when
   * the timeout passes first (the job goes on)
   */
  waitForResult(id: string, timeout?: Duration): Promise<unknown>
  /**
   * Takes no more jobs, waits for those that run, and releases what the adapter holds open. Idempotent.
   *
   * @param options.timeout how long to wait for running jobs before their `signal` aborts; default 10 seconds
   */
  shutdown(options?: { readonly timeout?: Duration }): Promise<void>
}

/** `not_found`: never enqueued, or forgotten after its retention. */
export type JobStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled' | 'not_found'

/** Handles one job. What it returns is the job's result; what it throws is its failure, retried if attempts are left. */
export type JobHandler = (payload: never, job: JobContext) => unknown

/** What a handler is told about the job. */
export interface JobContext {
  readonly id: string
  readonly jobType: string
  /** From 1. The death of a process is no attempt. */
  readonly attempt: number
  /** Aborts when the job is to stop because the adapter shuts down. */
  readonly signal: AbortSignal
}

/** The options of `enqueue`. Durations: milliseconds, or text such as `'90s'`. */
export interface JobOptions {
  /** Deduplicates: unique per job type while the job is retained. At most 1 KiB. Default: a new unique id. */
  readonly jobId?: string
  /** Handle it no earlier than after this time. */
  readonly delay?: Duration
  /** 0, the default, goes first; then 1, and so on, up to 1,000,000. */
  readonly priority?: number
  /** Attempts in all, the first included. Default 1. An error with `permanent: true` ends them. */
  readonly attempts?: number
  /** The delay between attempts: fixed, or doubling. Default: none. */
  readonly backoff?: Duration | { readonly type: 'fixed' | 'exponential'; readonly delay: Duration }
  /** Makes a job again and again. Only where `supportsRepeat` is `true`. Its id stands for all of them. */
  readonly repeat?: Repeat
}

/** Every so often, or by a cron pattern (in a time zone such as `'Europe/Berlin'`; default: the process's). */
export type Repeat =
  | { readonly every: Duration }
  | { readonly pattern: string; readonly timezone?: string | undefined }

/** The options of `process`. */
export interface ProcessOptions {
  /**
   * How many jobs of this type may run at once in this process. Default 10; of the `store` adapter, as many as its engine
   * executes. There, jobs that wait for their turn in this process occupy places of the engine's `concurrency`.
   */
  readonly concurrency?: number
}
