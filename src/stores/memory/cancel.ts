import { cancelRequested } from '../../core/run-machine.ts'
import type { CancelRequest, WriteResult } from '../../ports/store.ts'
import type { MemoryData } from './data.ts'

/** Accepts a request to cancel, from an operator or from the run's parent. */
export function cancel(data: MemoryData, request: CancelRequest, now: number): WriteResult {
  const row = data.row(request.runId)
  if (row === undefined) return { status: 'missing' }
  const { run } = row
  const next = cancelRequested(run, request.reason, request.error, now)
  if (next === null) return { status: 'refused', runStatus: run.status }
  if (next !== run) data.replace(row, next)
  return { status: 'ok', run: { status: next.status, dueAt: next.dueAt } }
}
