import { isTerminal, type RunStatus } from '../../core/run.ts'
import type { CancelRequest, ControlWrite, WriteResult } from '../../ports/store.ts'
import { timePlus } from '../sql/time.ts'
import type { Database } from './database.ts'
import { ok, type StateRow } from './deliver.ts'
import { deleteRun } from './prune.ts'

type Action = Exclude<ControlWrite['action'], 'cancel' | 'delete'>

/**
 * The effect of each action as one statement that matches no row where the run's state does not allow it. Takes
 * the time, but for `pause`, and the run's id.
 */
const effects: Readonly<Record<Action, string>> = {
  // A running run's raised count keeps it from parking before it has noticed.
  pause: `UPDATE perdure_runs SET
    deliveries = deliveries + (status = 'running' AND pause_requested = 0),
    pause_requested = (status = 'running'),
    paused_from = CASE WHEN status IN ('pending', 'waiting') THEN status ELSE paused_from END,
    status = CASE WHEN status IN ('pending', 'waiting') THEN 'paused' ELSE status END
    WHERE id = ? AND status IN ('pending', 'waiting', 'running', 'paused')
    RETURNING status, due_at`,

  resume: `UPDATE perdure_runs SET
    due_at = CASE WHEN paused_from = 'waiting' AND deliveries > seen THEN ? ELSE due_at END,
    error = CASE paused_from WHEN 'waiting' THEN NULL ELSE error END,
    status = coalesce(paused_from, status),
    paused_from = NULL,
    pause_requested = 0
    WHERE id = ? AND (status = 'paused' OR (status = 'running' AND pause_requested = 1))
    RETURNING status, due_at`,

  revive: `UPDATE perdure_runs SET
    status = 'pending', due_at = ?, attempt = 1, epoch = epoch + 1, deaths = 0, error = NULL, output = NULL,
    cancel_reason = NULL, started_at = NULL, deadline = NULL, ended_at = NULL, expires_at = NULL
    WHERE id = ? AND status IN ('failed', 'cancelled')
    RETURNING status, due_at`,

  wake: `UPDATE perdure_runs SET due_at = ?
    WHERE id = ? AND status IN ('pending', 'waiting')
    RETURNING status, due_at`,
}

const selectStatus = 'SELECT number, status FROM perdure_runs WHERE id = ?'

const selectForCancel =
  'SELECT status, due_at, fence, parent_id, cancel_reason FROM perdure_runs WHERE id = ?'

const cancelAtOnce = `UPDATE perdure_runs SET
  status = 'cancelled', cancel_reason = ?, error = ?, due_at = NULL, paused_from = NULL, ended_at = ?,
  expires_at = ${timePlus('?', 'retention')}
  WHERE id = ? RETURNING status, due_at`

const askToCancel = `UPDATE perdure_runs SET
  cancel_reason = coalesce(cancel_reason, ?), deliveries = deliveries + 1, pause_requested = 0, paused_from = NULL,
  due_at = CASE status WHEN 'running' THEN due_at ELSE ? END,
  status = CASE status WHEN 'running' THEN status ELSE 'pending' END
  WHERE id = ? RETURNING status, due_at`

/** Applies an operator's request, or says that the run's state does not allow it. */
export function control(database: Database, write: ControlWrite, now: number): WriteResult {
  switch (write.action) {
    case 'cancel':
      return cancel(database, write, now)
    case 'delete':
      return deleteEnded(database, write.runId)
    default: {
      const values = write.action === 'pause' ? [write.runId] : [now, write.runId]
      const row = database.get<StateRow>(effects[write.action], ...values)
      return row === undefined ? notAllowed(database, write.runId) : ok(row)
    }
  }
}

interface CancelRow extends StateRow {
  readonly fence: number
  readonly parent_id: string | null
  readonly cancel_reason: string | null
}

/** Accepts a request to cancel. A second one changes nothing, but takes a paused run out of its pause. */
export function cancel(database: Database, request: CancelRequest, now: number): WriteResult {
  const { runId, reason, error } = request
  const run = database.get<CancelRow>(selectForCancel, runId)
  if (run === undefined) return { status: 'missing' }
  if (run.status === 'completed' || run.status === 'failed') {
    return { status: 'refused', runStatus: run.status }
  }
  const accepted = run.cancel_reason !== null && run.status !== 'paused'
  if (run.status === 'cancelled' || accepted) return ok(run)
  // A run that never started has nothing to clean up, and without a parent nobody to tell.
  if (run.fence === 0 && run.parent_id === null) {
    return ok(database.get<StateRow>(cancelAtOnce, reason, error, now, now, runId))
  }
  return ok(database.get<StateRow>(askToCancel, reason, now, runId))
}

function deleteEnded(database: Database, runId: string): WriteResult {
  const row = database.get<{ number: number; status: RunStatus }>(selectStatus, runId)
  if (row === undefined) return { status: 'missing' }
  if (!isTerminal(row.status)) return { status: 'refused', runStatus: row.status }
  deleteRun(database, row.number)
  return { status: 'ok', run: null }
}

function notAllowed(database: Database, runId: string): WriteResult {
  const row = database.get<{ status: RunStatus }>(selectStatus, runId)
  return row === undefined ? { status: 'missing' } : { status: 'refused', runStatus: row.status }
}
