import type { SerializedError } from '@pikku/core'
import { DEFAULT_STEP_RETRIES, type StepState, type StepStatus } from '@pikku/core/workflow'
import type { RunRecord } from '../core/run.ts'
import { isTerminal } from '../core/run.ts'
import { STEP, stepIdOf } from './ids.ts'
import type { Kind, Logged } from './ledger.ts'
import { decode } from './values.ts'

/** What a step is created with. */
export interface StepInput {
  readonly runId: string
  readonly stepName: string
  readonly rpcName: string | null
  readonly data: unknown
  readonly retries: number | undefined
  readonly retryDelay: string | number | undefined
  readonly fromStepName: string | undefined
}

/** What can happen to a step. Each but `retry` is about the attempt that it names. */
export type StepEvent =
  | (StepClaim & { readonly type: 'running' | 'retry' })
  | { readonly type: 'pending' | 'scheduled' | 'released'; readonly attempt: number }
  | { readonly type: 'result'; readonly attempt: number; readonly value: unknown }
  | { readonly type: 'error'; readonly attempt: number; readonly error: SerializedError }
  | { readonly type: 'child'; readonly attempt: number; readonly childRunId: string }
  | { readonly type: 'branch'; readonly attempt: number; readonly key: string }

interface StepClaim {
  readonly attempt: number
  readonly by: string
  readonly token: string
  readonly viaQueue: boolean
}

/** Who executes an attempt. */
export interface Holder {
  /** The identity of the worker. */
  readonly by: string
  /** One execution of it. */
  readonly token: string
  /** The number of the event by which it was claimed: no two claims of a step have the same. */
  readonly claim: number
}

/** One attempt. Times are epoch ms. */
export interface Attempt {
  readonly number: number
  readonly status: StepStatus
  readonly holder: Holder | null
  /** Whether it was executed by a job: then the job's retries are the step's. */
  readonly viaQueue: boolean
  readonly result?: unknown
  readonly error?: SerializedError
  readonly childRunId?: string
  readonly branchKey?: string
  readonly createdAt: number
  readonly updatedAt: number
  /** As `updatedAt`, but for its being taken from a dead worker. */
  readonly activeAt: number
  readonly runningAt?: number
  readonly scheduledAt?: number
  readonly succeededAt?: number
  readonly failedAt?: number
}

/** A step, as its log says. */
export interface StepRecord extends StepInput {
  readonly id: string
  /** Whether its record is closed: nothing more can happen to it. */
  readonly isClosed: boolean
  /** Oldest first; never empty. Which is the latest is decided by the log, not by clocks. */
  readonly attempts: readonly Attempt[]
  readonly latest: Attempt
}

export const stepKind: Kind<StepRecord, StepEvent> = { workflow: STEP, fold }

function fold(record: RunRecord, events: readonly Logged<StepEvent>[]): StepRecord {
  const input = decode<StepInput>(record.input)
  const { createdAt, id } = record
  let latest = newAttempt(1, createdAt)
  const earlier: Attempt[] = []
  for (const logged of events) {
    const next = after(latest, logged)
    if (next.number > latest.number) earlier.push(latest)
    latest = next
  }
  return { ...input, id, isClosed: isTerminal(record.status), attempts: [...earlier, latest], latest }
}

function newAttempt(number: number, at: number): Attempt {
  return {
    number,
    status: 'pending',
    holder: null,
    viaQueue: false,
    createdAt: at,
    updatedAt: at,
    activeAt: at,
  }
}

function after(latest: Attempt, { event, number, at }: Logged<StepEvent>): Attempt {
  const isNew = event.attempt > latest.number
  const attempt: Attempt = isNew
    ? newAttempt(event.attempt, at)
    : { ...latest, updatedAt: at, activeAt: event.type === 'released' ? latest.activeAt : at }
  switch (event.type) {
    case 'pending':
    case 'released':
      return { ...attempt, status: 'pending', holder: null }
    case 'running':
    case 'retry': {
      const holder = { by: event.by, token: event.token, claim: number }
      const { viaQueue } = event
      return { ...withoutOutcome(attempt), status: 'running', holder, viaQueue, runningAt: at }
    }
    case 'scheduled':
      return { ...attempt, status: 'scheduled', scheduledAt: at }
    case 'result':
      return { ...withoutOutcome(attempt), status: 'succeeded', result: event.value, succeededAt: at }
    case 'error':
      return { ...withoutOutcome(attempt), status: 'failed', error: event.error, failedAt: at }
    case 'child':
      return { ...attempt, childRunId: event.childRunId }
    case 'branch':
      return { ...attempt, branchKey: event.key }
  }
}

/** An attempt that is started over has not failed; one that has an outcome is in nobody's hands. */
function withoutOutcome({ error: _, failedAt: __, result: ___, ...attempt }: Attempt): Attempt {
  return { ...attempt, holder: null }
}

/** An attempt as Pikku knows it. */
export function stateOf(step: StepRecord, attempt: Attempt = step.latest): StepState & { stepName: string } {
  const { retries, retryDelay, fromStepName, rpcName, stepName } = step
  const { runningAt, scheduledAt, succeededAt, failedAt, childRunId, error } = attempt
  return {
    stepId: stepIdOf(step.id, attempt.number),
    stepName,
    status: attempt.status,
    rpcName,
    attemptCount: attempt.number,
    createdAt: new Date(attempt.createdAt),
    updatedAt: new Date(attempt.updatedAt),
    ...('result' in attempt && { result: attempt.result }),
    ...(error !== undefined && { error }),
    ...(childRunId !== undefined && { childRunId }),
    ...(retries !== undefined && { retries }),
    ...(retryDelay !== undefined && { retryDelay }),
    ...(fromStepName !== undefined && { fromStepName }),
    ...(runningAt !== undefined && { runningAt: new Date(runningAt) }),
    ...(scheduledAt !== undefined && { scheduledAt: new Date(scheduledAt) }),
    ...(succeededAt !== undefined && { succeededAt: new Date(succeededAt) }),
    ...(failedAt !== undefined && { failedAt: new Date(failedAt) }),
  }
}

/** How often a step is attempted in all. */
export function maxAttempts({ retries }: StepRecord): number {
  return (retries ?? DEFAULT_STEP_RETRIES) + 1
}

/** Whether its job will attempt it again. */
export function isBetweenAttempts(step: StepRecord): boolean {
  const { latest } = step
  return latest.status === 'failed' && latest.viaQueue && latest.number < maxAttempts(step)
}
