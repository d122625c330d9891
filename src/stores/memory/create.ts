import { claimed, created } from '../../core/run-machine.ts'
import type { Birth, WriteResult } from '../../ports/store.ts'
import type { MemoryData } from './data.ts'

/** Creates a run unless its id, or its workflow and key, exist. */
export function create(data: MemoryData, { run, claimedBy }: Birth, now: number): WriteResult {
  const existing = data.row(run.id) ?? (run.key === null ? undefined : data.rowByKey(run.workflow, run.key))
  if (existing !== undefined) return { status: 'existing', run: existing.run }
  const pending = created(run, now)
  const record = claimedBy === null ? pending : claimed(pending, claimedBy, now)
  data.insert(record, run.entries)
  return { status: 'ok', run: { status: record.status, dueAt: record.dueAt } }
}
