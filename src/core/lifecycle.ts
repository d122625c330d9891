import { PoisonedRunError, RunCancelledError, RunTimeoutError } from './errors.ts'
import { decideRetry, maxAttempts } from './retry.ts'
import type { RunRecord } from './run.ts'

/**
 * Why a claimed run must not be executed again, or `null`. A run with a retry policy has as many attempts as
 * the policy says, deaths of its workers included. No run may die `maxDeaths` times in a row without making
 * progress: whatever kills its process would do so for ever.
 */
export function poisoned(run: RunRecord, maxDeaths: number): PoisonedRunError | null {
  if (run.deaths === 0) return null
  const allowed = run.policy.retry === null ? null : maxAttempts(run.policy.retry)
  if (allowed !== null && run.attempt > allowed) {
    return new PoisonedRunError(
      `The worker died during the last of ${allowed} attempts. Find out what ends the process, then revive the run.`,
    )
  }
  if (run.deaths < maxDeaths) return null
  return new PoisonedRunError(
    `${run.deaths} workers in a row died executing this run without progress. Find out what ends ` +
      'the process (memory, process.exit, a native crash), then revive the run.',
  )
}

/** What follows from the failure of a run's function. */
export type AfterFailure = { readonly type: 'retry'; readonly delayMs: number } | { readonly type: 'fail' }

/** Whether the run is tried again. `random` is a number from 0 to 1. */
export function afterFailure(run: RunRecord, error: unknown, random: number): AfterFailure {
  if (run.policy.retry === null) return { type: 'fail' }
  const decision = decideRetry({ policy: run.policy.retry, attempt: run.attempt, error, random })
  return decision.retry ? { type: 'retry', delayMs: decision.delayMs } : { type: 'fail' }
}

/** What is thrown into a run that is cancelled. */
export function cancellation(reason: string): RunCancelledError {
  return new RunCancelledError(
    reason === '' ? 'The run was cancelled.' : `The run was cancelled: ${reason}`,
    reason === '' ? undefined : reason,
  )
}

/** What is thrown into a run whose deadline has passed. */
export function deadlinePassed(timeoutMs: number): RunTimeoutError {
  return new RunTimeoutError(`The run did not end within its timeout of ${timeoutMs} ms.`)
}

/** How a run ends whose function was interrupted, whatever the function made of it. */
export function endAfterInterrupt(interrupt: unknown): 'cancelled' | 'failed' {
  return interrupt instanceof RunTimeoutError ? 'failed' : 'cancelled'
}
