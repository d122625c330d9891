import type { RunRecord } from '../../core/run.ts'
import { advanced, cancelWins } from '../../core/run-machine.ts'
import { writeOrder } from '../../core/write-order.ts'
import type { AdvanceWrite, WriteResult } from '../../ports/store.ts'
import { cancel } from './cancel.ts'
import { create } from './create.ts'
import type { MemoryData } from './data.ts'
import { deliver } from './deliver.ts'
import type { Row } from './row.ts'

/** Moves a claimed run on, with everything that belongs to the step; all or nothing. */
export function advance(data: MemoryData, write: AdvanceWrite, now: number): WriteResult {
  const row = data.row(write.runId)
  if (row === undefined || !holdsClaim(row.run, write)) return { status: 'fenced' }
  record(row, write)
  for (const child of write.children) create(data, child, now)
  for (const request of write.cancels) cancel(data, request, now)
  const deliveries = cancelWins(row.run, write.to) ? write.deliveriesIfCancelled : write.deliveries
  for (const delivery of deliveries) deliver(data, delivery, now)
  // The transition comes last, so that it counts what this write delivered to its own run.
  const run = moved(row.run, write, now)
  if (run !== row.run) data.replace(row, run)
  return { status: 'ok', run: { status: run.status, dueAt: run.dueAt } }
}

function holdsClaim(run: RunRecord, { worker, fence }: AdvanceWrite): boolean {
  return run.status === 'running' && run.owner === worker && run.fence === fence
}

function record(row: Row, write: AdvanceWrite): void {
  const order = writeOrder(write)
  for (const entry of write.entries) {
    if ((row.written.get(entry.key) ?? 0) > order) continue
    row.entries.set(entry.key, entry)
    row.written.set(entry.key, order)
  }
  for (const id of write.consumed) {
    if (row.inbox.delete(id)) row.consumed.add(id)
  }
}

function moved(run: RunRecord, { entries, progress, to }: AdvanceWrite, now: number): RunRecord {
  const alive = progress && entries.length > 0 && run.deaths > 0 ? { ...run, deaths: 0 } : run
  return to === null ? alive : advanced(alive, to, now)
}
