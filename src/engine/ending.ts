import { encodeValue } from '../core/codec.ts'
import { addTime } from '../core/duration.ts'
import { encodeError } from '../core/error-codec.ts'
import { afterFailure, cancellation, endAfterInterrupt } from '../core/lifecycle.ts'
import { MAX_TIME } from '../core/limits.ts'
import type { AttemptRecord, ChildOutcome, Entry, RunRecord } from '../core/run.ts'
import type { Environment } from '../ports/environment.ts'
import type { CancelRequest, Delivery, RunState, Transition } from '../ports/store.ts'
import type { EngineConfig } from './config.ts'

/** How an execution leaves its run for good, and whom it tells. */
export interface Ending {
  readonly transition: Transition
  readonly deliveries: readonly Delivery[]
  readonly deliveriesIfCancelled: readonly Delivery[]
  /** What the store made of it, once it is written. */
  readonly state?: RunState | null
}

/** What a run keeps if a cancel is accepted that its execution has not heard of. */
const CANCELLED = encodeError(cancellation(''))

interface EndingContext {
  readonly run: RunRecord
  readonly env: Environment
  readonly config: EngineConfig
}

/** What the function returned or threw. */
export type Finish =
  | { readonly type: 'returned'; readonly value: unknown }
  | { readonly type: 'threw'; readonly error: unknown }

/**
 * What follows from how a function ended. `interrupt` is what was thrown into it, if anything was: then that decides,
 * whatever the function made of it.
 */
export function endingOf(
  { run, env, config }: EndingContext,
  attempts: readonly AttemptRecord[],
  finish: Finish,
  interrupt: unknown,
): Ending {
  if (interrupt !== undefined) {
    return ends(
      run,
      { status: endAfterInterrupt(interrupt), value: encodeError(interrupt), attempts },
      env.now(),
    )
  }
  if (finish.type === 'threw') return failure(run, env, finish.error, attempts)
  const what = `The output of workflow "${run.workflow}"`
  try {
    const output = encodeValue(finish.value, { what, maxBytes: config.maxValueBytes })
    return ends(run, { status: 'completed', value: output, attempts }, env.now())
  } catch (error) {
    return failure(run, env, error, attempts)
  }
}

/** The end of a run with an error. */
export function failed(
  run: RunRecord,
  error: unknown,
  now: number,
  attempts: readonly AttemptRecord[] = [],
): Ending {
  return ends(run, { status: 'failed', value: encodeError(error), attempts }, now)
}

/** The end of a run that is cancelled before its function is called. */
export function cancelled(run: RunRecord, now: number): Ending {
  const value = encodeError(cancellation(run.cancelReason ?? ''))
  return ends(run, { status: 'cancelled', value, attempts: [] }, now)
}

/** How a run leaves that cannot go on: paused with a reason; or cancelled, if that was accepted. */
export function setAside(run: RunRecord, error: unknown, now: number): Ending {
  if (run.cancelReason !== null) return cancelled(run, now)
  const transition = { status: 'paused', error: encodeError(error), seen: run.deliveries } as const
  return { transition, deliveries: [], deliveriesIfCancelled: [] }
}

/** The same for a run whose input cannot be read; but a child that never ran tells its parent, which may handle it. */
export function refuseInput(run: RunRecord, error: unknown, now: number): Ending {
  return run.parentId !== null && run.fence === 1 ? failed(run, error, now) : setAside(run, error, now)
}

/** Cancels for the children that the journal of a run says were not over. */
export function orphansOf(entries: readonly Entry[]): readonly CancelRequest[] {
  const reason = 'its parent was cancelled'
  return entries.flatMap(({ status, childId }) => {
    if (status !== 'scheduled' || childId === null) return []
    return [{ runId: childId, reason, error: encodeError(cancellation(reason)) }]
  })
}

function failure(
  run: RunRecord,
  env: Environment,
  error: unknown,
  attempts: readonly AttemptRecord[],
): Ending {
  const next = afterFailure(run, error, env.random(`retry:run:${run.attempt}`))
  if (next.type === 'fail') return failed(run, error, env.now(), attempts)
  const transition: Transition = {
    status: 'pending',
    // No later than the deadline, so that a run which is out of time ends then.
    dueAt: Math.min(addTime(env.now(), next.delayMs), run.deadline ?? MAX_TIME),
    seen: run.deliveries,
    attempt: run.attempt + 1,
    epoch: run.epoch + 1,
    error: encodeError(error),
  }
  return { transition, deliveries: [], deliveriesIfCancelled: [] }
}

function ends(run: RunRecord, outcome: Omit<ChildOutcome, 'runId'>, now: number): Ending {
  const { status, value } = outcome
  const cancelledError = run.cancelReason === null ? CANCELLED : encodeError(cancellation(run.cancelReason))
  const transition: Transition = {
    status,
    output: status === 'completed' ? value : null,
    error: status === 'completed' ? null : value,
    cancelled: cancelledError,
  }
  return {
    transition,
    deliveries: toParent(run, outcome, now),
    deliveriesIfCancelled: toParent(run, { ...outcome, status: 'cancelled', value: cancelledError }, now),
  }
}

/** Tells the parent, if there is one. A revived child may end again: the epoch tells its ends apart. */
function toParent(run: RunRecord, ended: Omit<ChildOutcome, 'runId'>, now: number): Delivery[] {
  if (run.parentId === null || run.parentStep === null) return []
  // Only a registered function shows its attempts as those of the calling step.
  const outcome: ChildOutcome = {
    ...ended,
    runId: run.id,
    attempts: run.policy.call === null ? [] : ended.attempts,
  }
  const id = JSON.stringify(['child', run.id, run.epoch])
  const item = { id, kind: 'child', name: run.parentStep, payload: JSON.stringify(outcome), at: now } as const
  return [{ runId: run.parentId, item }]
}
