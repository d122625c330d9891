import type { Processor, WorkerOptions } from 'bullmq'
import { decodeValue, encodeValue } from '../../core/codec.ts'
import { decodeError, encodeError } from '../../core/error-codec.ts'
import { DEFAULT_MAX_VALUE_BYTES } from '../../core/limits.ts'
import { decideRetry } from '../../core/retry.ts'
import type { JobHandler } from '../adapter.ts'
import { messageOf, type RedisJob } from './stored-job.ts'

/** BullMQ's word for "no further attempt". */
const NO_RETRY = -1

/** What BullMQ calls for a job: the handler, its values decoded and encoded. */
export function processorOf(handler: JobHandler, jobType: string, signal: AbortSignal): Processor {
  return async (taken) => {
    const job = taken as RedisJob
    const id = job.id ?? ''
    const context = { id, jobType, attempt: job.attemptsMade + 1, signal }
    try {
      const result = await handler(decodeValue(job.data.payload) as never, context)
      return encodeValue(result, { what: `The result of job ${id}`, maxBytes: DEFAULT_MAX_VALUE_BYTES })
    } catch (error) {
      await job.updateData({ ...job.data, error: encodeError(error) })
      // BullMQ fails over what is no error.
      throw error instanceof Error ? error : new Error(messageOf(error))
    }
  }
}

/** Makes BullMQ retry as all of Perdure does. */
export const settings: NonNullable<WorkerOptions['settings']> = {
  backoffStrategy: (attempt, _type, error, job) => {
    const { retry, error: kept } = (job as RedisJob).data
    const thrown = kept === undefined ? error : decodeError(kept)
    const decision = decideRetry({ policy: retry, attempt, error: thrown, random: Math.random() })
    return decision.retry ? decision.delayMs : NO_RETRY
  },
}
