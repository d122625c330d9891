import { isTerminal, type RunRecord } from '../../core/run.ts'
import type { CancelRequest, WriteResult } from '../../ports/store.ts'
import type { MemoryData } from './data.ts'

/** Accepts a request to cancel. A second one, also after the first took effect, changes nothing. */
export function cancel(data: MemoryData, request: CancelRequest, now: number): WriteResult {
  const row = data.row(request.runId)
  if (row === undefined) return { status: 'missing' }
  const { run } = row
  if (isTerminal(run.status) && run.status !== 'cancelled') {
    return { status: 'refused', runStatus: run.status }
  }
  const again = run.status === 'cancelled' || run.cancelReason !== null
  const { status, dueAt } = again ? run : data.replace(row, cancelling(run, request, now))
  return { status: 'ok', run: { status, dueAt } }
}

function cancelling(run: RunRecord, { reason, error }: CancelRequest, now: number): RunRecord {
  // A run that never started has nothing to clean up, and without a parent nobody to tell.
  if (run.fence === 0 && run.parentId === null) return cancelledAtOnce(run, reason, error, now)
  const asked = {
    ...run,
    cancelReason: reason,
    deliveries: run.deliveries + 1,
    pauseRequested: false,
  }
  return run.status === 'running' ? asked : { ...asked, status: 'pending', dueAt: now, pausedFrom: null }
}

function cancelledAtOnce(run: RunRecord, reason: string, error: string, now: number): RunRecord {
  return {
    ...run,
    status: 'cancelled',
    cancelReason: reason,
    error,
    dueAt: null,
    pausedFrom: null,
    endedAt: now,
    expiresAt: now + run.policy.retention,
  }
}
