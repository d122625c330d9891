import { delivered, takes } from '../../core/run-machine.ts'
import type { Delivery, WriteResult } from '../../ports/store.ts'
import type { MemoryData } from './data.ts'

/** Puts an item into a run's inbox, once, and wakes the run if it is parked. */
export function deliver(data: MemoryData, { runId, item }: Delivery, now: number): WriteResult {
  const row = data.row(runId)
  if (row === undefined) return { status: 'missing' }
  // Before the check for an ended run: whoever repeats a delivery learns that the first one arrived.
  if (row.inbox.has(item.id) || row.consumed.has(item.id)) return { status: 'duplicate' }
  const { run } = row
  if (!takes(run.status, item.kind)) return { status: 'refused', runStatus: run.status }
  row.inbox.set(item.id, item)
  const { status, dueAt } = data.replace(row, delivered(run, now))
  return { status: 'ok', run: { status, dueAt } }
}
