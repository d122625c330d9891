/**
 * The state machine of a run: what each write makes of its record. Pure; the memory store applies these functions as they
 * are, the SQL stores say the same in SQL, and the store suite holds them to it.
 */
import { addTime } from './duration.ts'
import {
  type InboxItem,
  isTerminal,
  type NewRun,
  type RunRecord,
  type RunStatus,
  type Transition,
} from './run.ts'

/** The record of a run that was just created. */
export function created(run: NewRun, now: number): RunRecord {
  // Field by field: a spread without `entries` gives an object that V8 keeps as a slow dictionary.
  return {
    id: run.id,
    workflow: run.workflow,
    version: run.version,
    queue: run.queue,
    key: run.key,
    priority: run.priority,
    tags: run.tags,
    status: 'pending',
    dueAt: run.dueAt,
    attempt: 1,
    epoch: 1,
    deaths: 0,
    owner: null,
    fence: 0,
    deliveries: 0,
    seen: 0,
    cancelReason: null,
    pauseRequested: false,
    pausedFrom: null,
    input: run.input,
    output: null,
    error: null,
    parentId: run.parentId,
    parentStep: run.parentStep,
    policy: run.policy,
    deadline: null,
    createdAt: now,
    startedAt: null,
    endedAt: null,
    expiresAt: null,
  }
}

/** Claimed by a worker. The first claim starts the run's clock. */
export function claimed(run: RunRecord, worker: string, now: number): RunRecord {
  const { timeout } = run.policy
  const starts = run.startedAt === null
  return {
    ...run,
    status: 'running',
    dueAt: null,
    owner: worker,
    fence: run.fence + 1,
    startedAt: run.startedAt ?? now,
    deadline: starts && timeout !== null ? addTime(now, timeout) : run.deadline,
  }
}

/** Whether an accepted cancel wins over the end that an execution came to. */
export function cancelWins(run: RunRecord, to: Transition | null): boolean {
  return run.cancelReason !== null && (to?.status === 'completed' || to?.status === 'failed')
}

/** Where an advance takes a running run. */
export function advanced(run: RunRecord, to: Transition, now: number): RunRecord {
  switch (to.status) {
    case 'waiting': {
      // A delivery that the execution has not looked at would otherwise never wake it.
      const dueAt = run.deliveries > to.seen ? now : to.dueAt
      return released({ ...run, status: 'waiting', owner: null, dueAt, seen: to.seen })
    }
    case 'pending':
      return released({ ...run, ...to, owner: null, dueAt: run.cancelReason === null ? to.dueAt : now })
    case 'paused':
      return setAside(run, to, now)
    case 'completed':
    case 'failed':
    case 'cancelled':
      return ended(run, to, now)
  }
}

/** Taken from a worker that is dead, its death counted as an attempt. `place`: see `dueAfterDeath`. */
export function reaped(run: RunRecord, place: number, now: number): RunRecord {
  const { attempt, deaths } = run
  const dueAt = dueAfterDeath(run, place, now)
  return released({ ...run, status: 'pending', owner: null, dueAt, attempt: attempt + 1, deaths: deaths + 1 })
}

/**
 * When a run whose worker died is due again: at once. But those that have lost several workers in a row without making
 * progress come one after the other, at distances that double with every death: the one that kills its workers soon does
 * so alone, and does not take the others along to their limit. `place` is the run's number among those reaped with it.
 */
export function dueAfterDeath({ deaths }: Pick<RunRecord, 'deaths'>, place: number, now: number): number {
  if (deaths < SUSPECT_DEATHS) return now
  return now + place * Math.min(FIRST_DISTANCE_MS * 2 ** (deaths - SUSPECT_DEATHS), LONGEST_DISTANCE_MS)
}

/** Fewer deaths than this happen to anybody, where processes are killed now and then. */
const SUSPECT_DEATHS = 3
const FIRST_DISTANCE_MS = 200
const LONGEST_DISTANCE_MS = 15_000

/**
 * Whether a run in this state takes a delivery. One that has ended does not; but one that may be revived takes what its
 * children came to, because its journal still says that it waits for them.
 */
export function takes(status: RunStatus, kind: InboxItem['kind']): boolean {
  return !isTerminal(status) || (kind === 'child' && status !== 'completed')
}

/** Something was delivered: a parked run is due now, one that is set aside or not started yet stays so. */
export function delivered(run: RunRecord, now: number): RunRecord {
  const dueAt = run.status === 'waiting' ? now : run.dueAt
  return { ...run, deliveries: run.deliveries + 1, dueAt }
}

/** What an operator asks; the same object if nothing changes, `null` if the run's state does not allow it. */
export type Request = (run: RunRecord, now: number) => RunRecord | null

/** Cancels: at once if the run never started, else by interrupting it. `error` is its encoded error if at once. */
export function cancelRequested(
  run: RunRecord,
  reason: string,
  error: string,
  now: number,
): RunRecord | null {
  if (isTerminal(run.status)) return run.status === 'cancelled' ? run : null
  if (run.cancelReason !== null && run.status !== 'paused') return run
  // A run that never started has nothing to clean up, and without a parent nobody to tell.
  if (run.fence === 0 && run.parentId === null) {
    const { retention } = run.policy
    const over = { status: 'cancelled', error, dueAt: null, pausedFrom: null } as const
    return { ...run, ...over, cancelReason: reason, endedAt: now, expiresAt: addTime(now, retention) }
  }
  const cancelReason = run.cancelReason ?? reason
  const asked = { ...run, cancelReason, deliveries: run.deliveries + 1, pauseRequested: false }
  return run.status === 'running' ? asked : { ...asked, status: 'pending', dueAt: now, pausedFrom: null }
}

export const pauseRequested: Request = (run) => {
  switch (run.status) {
    case 'pending':
    case 'waiting':
      return { ...run, status: 'paused', pausedFrom: run.status }
    case 'running':
      // The raised count keeps the run from parking before it has noticed.
      return run.pauseRequested ? run : { ...run, pauseRequested: true, deliveries: run.deliveries + 1 }
    case 'paused':
      return run
    case 'completed':
    case 'failed':
    case 'cancelled':
      return null
  }
}

export const resumeRequested: Request = (run, now) => {
  if (run.status === 'running' && run.pauseRequested) return { ...run, pauseRequested: false }
  if (run.pausedFrom === null) return null
  // The error of an attempt that is to be repeated stays; that of having been set aside is done with.
  if (run.pausedFrom === 'pending') return { ...run, status: 'pending', pausedFrom: null }
  const dueAt = run.deliveries > run.seen ? now : run.dueAt
  return { ...run, status: 'waiting', pausedFrom: null, error: null, dueAt }
}

export const reviveRequested: Request = (run, now) => {
  if (run.status !== 'failed' && run.status !== 'cancelled') return null
  return {
    ...run,
    status: 'pending',
    dueAt: now,
    attempt: 1,
    epoch: run.epoch + 1,
    deaths: 0,
    error: null,
    output: null,
    cancelReason: null,
    startedAt: null,
    deadline: null,
    endedAt: null,
    expiresAt: null,
  }
}

export const wakeRequested: Request = (run, now) => {
  return run.status === 'pending' || run.status === 'waiting' ? { ...run, dueAt: now } : null
}

/** A run that has let go of its claim: paused if that was asked for while it ran. */
function released(run: RunRecord & { readonly status: 'pending' | 'waiting' }): RunRecord {
  if (!run.pauseRequested) return run
  return { ...run, status: 'paused', pausedFrom: run.status, pauseRequested: false }
}

/** Set aside with a reason; but one whose cancel was accepted is left due, to end. */
function setAside(run: RunRecord, { seen, error }: PauseTransition, now: number): RunRecord {
  const left = { ...run, owner: null, dueAt: now, seen, pauseRequested: false }
  if (run.cancelReason !== null) return { ...left, status: 'waiting' }
  return { ...left, status: 'paused', pausedFrom: 'waiting', error }
}

type PauseTransition = Extract<Transition, { readonly status: 'paused' }>
type EndTransition = Extract<Transition, { readonly status: 'completed' | 'failed' | 'cancelled' }>

function ended(run: RunRecord, to: EndTransition, now: number): RunRecord {
  const wins = cancelWins(run, to)
  return {
    ...run,
    status: wins ? 'cancelled' : to.status,
    output: wins ? null : to.output,
    error: wins ? to.cancelled : to.error,
    dueAt: null,
    owner: null,
    pauseRequested: false,
    endedAt: now,
    expiresAt: addTime(now, run.policy.retention),
  }
}
