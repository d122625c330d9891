import { describe } from '../core/describe.ts'
import { PerdureError, type PerdureErrorOptions } from '../core/errors.ts'

/** `waitForResult` of a job that failed: `cause` is what its handler threw. */
export class JobFailedError extends PerdureError {
  readonly jobId: string
  constructor(jobId: string, cause: unknown) {
    super('JOB_FAILED', `Job ${jobId} failed: ${describe(cause)}`, { cause })
    this.jobId = jobId
  }
}

/** `waitForResult` of a job that was cancelled. */
export class JobCancelledError extends PerdureError {
  readonly jobId: string
  constructor(jobId: string) {
    super('JOB_CANCELLED', `Job ${jobId} was cancelled before it ran.`)
    this.jobId = jobId
  }
}

/** No job has this id. It may have been forgotten after its retention. */
export class JobNotFoundError extends PerdureError {
  constructor(jobId: string) {
    super('JOB_NOT_FOUND', `No job has the id ${JSON.stringify(jobId)}; ids are what enqueue() returned.`)
  }
}

/** A job waited in this process for a handler that never came. */
export class NoHandlerError extends PerdureError {
  constructor(jobType: string) {
    super('NO_HANDLER', `Nothing in this process handles jobs of type "${jobType}". Call process() for it.`)
  }
}

/** The adapter was shut down. */
export class QueueClosedError extends PerdureError {
  constructor() {
    super('QUEUE_CLOSED', 'This queue adapter was shut down. Create a new one to go on.')
  }
}

/** The server of the queue cannot be reached, or its driver is not installed. */
export class QueueUnavailableError extends PerdureError {
  constructor(message: string, options?: PerdureErrorOptions) {
    super('QUEUE_UNAVAILABLE', message, options)
  }
}
