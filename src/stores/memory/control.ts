import { isTerminal, type RunRecord } from '../../core/run.ts'
import type { ControlWrite, WriteResult } from '../../ports/store.ts'
import { cancel } from './cancel.ts'
import type { MemoryData } from './data.ts'

/** Applies an operator's request, or says that the run's state does not allow it. */
export function control(data: MemoryData, write: ControlWrite, now: number): WriteResult {
  if (write.action === 'cancel') return cancel(data, write, now)
  const row = data.row(write.runId)
  if (row === undefined) return { status: 'missing' }
  const { run } = row
  if (write.action === 'delete') {
    if (!isTerminal(run.status)) return { status: 'refused', runStatus: run.status }
    data.remove(row)
    return { status: 'ok', run: null }
  }
  const next = actions[write.action](run, now)
  if (next === null) return { status: 'refused', runStatus: run.status }
  if (next !== run) data.replace(row, next)
  return { status: 'ok', run: { status: next.status, dueAt: next.dueAt } }
}

/** The run after the action; the same object if nothing changes, `null` if it is not allowed. */
type Action = (run: RunRecord, now: number) => RunRecord | null

const actions: { readonly [name in 'pause' | 'resume' | 'revive' | 'wake']: Action } = {
  pause(run) {
    switch (run.status) {
      case 'pending':
      case 'waiting':
        return { ...run, status: 'paused', pausedFrom: run.status }
      case 'running':
        // The raised count keeps the run from parking before it has noticed.
        return run.pauseRequested ? run : { ...run, pauseRequested: true, deliveries: run.deliveries + 1 }
      case 'paused':
        return run
      default:
        return null
    }
  },

  resume(run, now) {
    if (run.status === 'running' && run.pauseRequested) return { ...run, pauseRequested: false }
    if (run.status !== 'paused' || run.pausedFrom === null) return null
    const unseen = run.pausedFrom === 'waiting' && run.deliveries > run.seen
    return {
      ...run,
      status: run.pausedFrom,
      pausedFrom: null,
      error: null,
      dueAt: unseen ? now : run.dueAt,
    }
  },

  revive(run, now) {
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
  },

  wake(run, now) {
    return run.status === 'pending' || run.status === 'waiting' ? { ...run, dueAt: now } : null
  },
}
