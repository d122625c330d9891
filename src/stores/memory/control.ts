import { isTerminal } from '../../core/run.ts'
import {
  pauseRequested,
  type Request,
  resumeRequested,
  reviveRequested,
  wakeRequested,
} from '../../core/run-machine.ts'
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
  const next = requests[write.action](run, now)
  if (next === null) return { status: 'refused', runStatus: run.status }
  if (next !== run) data.replace(row, next)
  return { status: 'ok', run: { status: next.status, dueAt: next.dueAt } }
}

const requests: { readonly [action in 'pause' | 'resume' | 'revive' | 'wake']: Request } = {
  pause: pauseRequested,
  resume: resumeRequested,
  revive: reviveRequested,
  wake: wakeRequested,
}
