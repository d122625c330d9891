import type { RunRecord } from '../../core/run.ts'
import type { Birth, NewRun, WriteResult } from '../../ports/store.ts'
import { claimed } from './claim.ts'
import type { MemoryData } from './data.ts'

/** Creates a run unless its id, or its workflow and key, exist. */
export function create(data: MemoryData, { run, claimedBy }: Birth, now: number): WriteResult {
  const existing = data.row(run.id) ?? (run.key === null ? undefined : data.rowByKey(run.workflow, run.key))
  if (existing !== undefined) return { status: 'existing', run: existing.run }
  const pending = newRecord(run, now)
  const record = claimedBy === null ? pending : claimed(pending, claimedBy, now)
  data.insert(record, run.entries)
  return { status: 'ok', run: { status: record.status, dueAt: record.dueAt } }
}

/** Field by field: a spread without `entries` gives an object that the engine keeps as a slow dictionary. */
function newRecord(run: NewRun, now: number): RunRecord {
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
