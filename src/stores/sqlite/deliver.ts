import type { RunStatus } from '../../core/run.ts'
import { takes } from '../../core/run-machine.ts'
import type { Delivery, RunState, WriteResult } from '../../ports/store.ts'
import type { Database } from './database.ts'

const selectTarget = 'SELECT number, status, deliveries FROM perdure_runs WHERE id = ?'
const selectItem = 'SELECT 1 FROM perdure_inbox WHERE run = ? AND id = ?'

const insertItem = `INSERT INTO perdure_inbox (run, id, position, kind, name, payload, at)
  VALUES (?, ?, ?, ?, ?, ?, ?)`

const noteDelivery = `UPDATE perdure_runs SET
  deliveries = deliveries + 1, due_at = CASE status WHEN 'waiting' THEN ? ELSE due_at END
  WHERE number = ? RETURNING status, due_at`

/** What `RETURNING status, due_at` gives. */
export interface StateRow {
  readonly status: RunStatus
  readonly due_at: number | null
}

interface TargetRow {
  readonly number: number
  readonly status: RunStatus
  readonly deliveries: number
}

/** The answer to a write that left its run in this state. */
export function ok(row: StateRow | undefined): WriteResult {
  const run: RunState | null = row === undefined ? null : { status: row.status, dueAt: row.due_at }
  return { status: 'ok', run }
}

/** Puts an item into a run's inbox, once, and wakes the run if it is parked. */
export function deliver(database: Database, { runId, item }: Delivery, now: number): WriteResult {
  const target = database.get<TargetRow>(selectTarget, runId)
  if (target === undefined) return { status: 'missing' }
  // Before the check for an ended run: whoever repeats a delivery learns that the first one arrived.
  if (database.get(selectItem, target.number, item.id) !== undefined) return { status: 'duplicate' }
  if (!takes(target.status, item.kind)) return { status: 'refused', runStatus: target.status }
  // The count of deliveries only grows, so it also says in which order the items came.
  const { id, kind, name, payload, at } = item
  database.run(insertItem, target.number, id, target.deliveries, kind, name, payload, at)
  return ok(database.get<StateRow>(noteDelivery, now, target.number))
}
