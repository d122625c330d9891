import { reaped } from '../../core/run-machine.ts'
import type { Heartbeat, WorkerLease } from '../../ports/store.ts'
import type { MemoryData } from './data.ts'

/** Renews, registers or ends a worker's lease. */
export function heartbeat(data: MemoryData, worker: WorkerLease, now: number): Heartbeat {
  const alive = worker.register || hasLease(data, worker.id, now)
  if (worker.leaseMs === 0) data.leases.delete(worker.id)
  else if (alive) data.leases.set(worker.id, now + worker.leaseMs)
  const held = data.heldBy(worker.id).map(({ run: { id, fence, deliveries } }) => ({ id, fence, deliveries }))
  return { alive, held }
}

/** Frees the runs of workers without a lease, whether it ran out or was never registered. */
export function reap(data: MemoryData, now: number, limit: number): readonly string[] {
  const freed: string[] = []
  for (const owner of data.owners()) {
    if (hasLease(data, owner, now)) continue
    for (const row of data.heldBy(owner).slice(0, limit - freed.length)) {
      data.replace(row, reaped(row.run, freed.length, now))
      freed.push(row.run.id)
    }
  }
  forgetIdleDead(data, now)
  return freed
}

function forgetIdleDead(data: MemoryData, now: number): void {
  for (const worker of data.leases.keys()) {
    if (!hasLease(data, worker, now) && data.heldBy(worker).length === 0) data.leases.delete(worker)
  }
}

function hasLease(data: MemoryData, worker: string, now: number): boolean {
  const until = data.leases.get(worker)
  return until !== undefined && until > now
}
