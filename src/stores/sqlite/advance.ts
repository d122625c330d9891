import { writeOrder } from '../../core/write-order.ts'
import type { AdvanceWrite, Transition, WriteResult } from '../../ports/store.ts'
import { timePlus } from '../sql/time.ts'
import { cancel } from './control.ts'
import { insertBirth, upsertEntries } from './create.ts'
import type { Database } from './database.ts'
import { deliver, ok, type StateRow } from './deliver.ts'

const selectClaim = `SELECT number, deaths, cancel_reason IS NOT NULL AS cancelling FROM perdure_runs
  WHERE id = ? AND fence = ? AND owner = ? AND status = 'running'`

const clearDeaths = 'UPDATE perdure_runs SET deaths = 0 WHERE number = ?'
const consumeItem = 'UPDATE perdure_inbox SET payload = NULL WHERE run = ? AND id = ?'

/** What a run does that lets go of its claim: it pauses, if that was asked for while it ran. */
const stopAs = (status: 'waiting' | 'pending'): string => `owner = NULL, pause_requested = 0,
  status = CASE pause_requested WHEN 1 THEN 'paused' ELSE '${status}' END,
  paused_from = CASE pause_requested WHEN 1 THEN '${status}' ELSE NULL END`

// A delivery that the execution has not looked at would otherwise never wake the run.
const wait = `UPDATE perdure_runs SET ${stopAs('waiting')},
  due_at = CASE WHEN deliveries > ? THEN ? ELSE ? END, seen = ?
  WHERE number = ? RETURNING status, due_at`

// A cancel that was accepted meanwhile does not wait for the retry.
const retry = `UPDATE perdure_runs SET ${stopAs('pending')},
  due_at = CASE WHEN cancel_reason IS NULL THEN ? ELSE ? END, seen = ?, attempt = ?, epoch = ?, error = ?
  WHERE number = ? RETURNING status, due_at`

// A run whose cancel was accepted is left due instead, to end.
const setAside = `UPDATE perdure_runs SET
  status = CASE WHEN cancel_reason IS NULL THEN 'paused' ELSE 'waiting' END,
  paused_from = CASE WHEN cancel_reason IS NULL THEN 'waiting' ELSE NULL END,
  pause_requested = 0, owner = NULL, due_at = ?, seen = ?,
  error = CASE WHEN cancel_reason IS NULL THEN ? ELSE error END
  WHERE number = ? RETURNING status, due_at`

const end = `UPDATE perdure_runs SET
  status = ?, output = ?, error = ?, due_at = NULL, owner = NULL, pause_requested = 0, ended_at = ?,
  expires_at = ${timePlus('?', 'retention')}
  WHERE number = ? RETURNING status, due_at`

interface ClaimRow {
  readonly number: number
  readonly deaths: number
  /** 1 if the run is to be cancelled. */
  readonly cancelling: number
}

/** Moves a claimed run on, with everything that belongs to the step; all or nothing. */
export function advance(database: Database, write: AdvanceWrite, now: number): WriteResult {
  const { runId, fence, worker } = write
  const claim = database.get<ClaimRow>(selectClaim, runId, fence, worker)
  if (claim === undefined) return { status: 'fenced' }
  record(database, claim, write)
  for (const child of write.children) insertBirth(database, child, now)
  for (const request of write.cancels) cancel(database, request, now)
  const cancelling = claim.cancelling === 1 || write.cancels.some((request) => request.runId === runId)
  const to = cancelling ? cancelledInstead(write.to) : write.to
  const deliveries = to === write.to ? write.deliveries : write.deliveriesIfCancelled
  for (const delivery of deliveries) deliver(database, delivery, now)
  if (to === null) return { status: 'ok', run: { status: 'running', dueAt: null } }
  // The transition comes last, so that it counts what this write delivered to its own run.
  return ok(transition(database, claim.number, to, now))
}

function record(database: Database, claim: ClaimRow, write: AdvanceWrite): void {
  const { entries, consumed, progress } = write
  upsertEntries(database, claim.number, entries, writeOrder(write))
  for (const id of consumed) database.run(consumeItem, claim.number, id)
  // The run's row is left alone while the run goes on, unless there is something to forgive.
  if (progress && entries.length > 0 && claim.deaths > 0) database.run(clearDeaths, claim.number)
}

/** An accepted cancel wins over any other end. */
function cancelledInstead(to: Transition | null): Transition | null {
  if (to === null || (to.status !== 'completed' && to.status !== 'failed')) return to
  return { status: 'cancelled', output: null, error: to.cancelled, cancelled: to.cancelled }
}

function transition(database: Database, run: number, to: Transition, now: number): StateRow | undefined {
  switch (to.status) {
    case 'waiting':
      return database.get(wait, to.seen, now, to.dueAt, to.seen, run)
    case 'pending':
      return database.get(retry, to.dueAt, now, to.seen, to.attempt, to.epoch, to.error, run)
    case 'paused':
      return database.get(setAside, now, to.seen, to.error, run)
    default:
      return database.get(end, to.status, to.output, to.error, now, now, run)
  }
}
