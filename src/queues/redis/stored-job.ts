import type { Job } from 'bullmq'
import { decodeError } from '../../core/error-codec.ts'
import type { JobStatus } from '../adapter.ts'
import type { JobRetry } from '../job-options.ts'

/** What the adapter keeps in the data of a job of BullMQ. */
export interface StoredJob {
  /** Encoded. */
  readonly payload: string
  readonly retry: JobRetry
  /** One per call of `enqueue`: tells whether that call created the job. */
  readonly token: string
  /** The encoded error with which it failed: BullMQ itself keeps the message only. */
  readonly error?: string
}

/** A job of this adapter. */
export type RedisJob = Job<StoredJob, string>

/** `unknown`: its hash exists, but it is in no list: what an interrupted removal leaves. */
export async function statusOf(job: RedisJob): Promise<JobStatus | 'unknown'> {
  const state = await job.getState()
  if (state === 'completed' || state === 'failed' || state === 'unknown') return state
  return state === 'active' ? 'running' : 'pending'
}

/** What a failed job failed with. */
export function failureOf({ data, failedReason }: RedisJob): unknown {
  const kept = data.error === undefined ? undefined : decodeError(data.error)
  // What fails without its handler, e.g. after too many deaths, has a reason of its own.
  return messageOf(kept) === failedReason ? kept : new Error(failedReason)
}

/** The message under which BullMQ keeps a failure. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
