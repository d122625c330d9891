import { dueAfterDeath } from '../../core/run-machine.ts'
import type { Heartbeat, HeldRun, WorkerLease } from '../../ports/store.ts'
import type { Database } from './database.ts'

const register = `INSERT INTO perdure_workers (id, expires_at) VALUES (?, ?)
  ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at`
const renew = 'UPDATE perdure_workers SET expires_at = ? WHERE id = ?'
const resign = 'DELETE FROM perdure_workers WHERE id = ?'
const selectLease = 'SELECT 1 FROM perdure_workers WHERE id = ? AND expires_at > ?'
const selectHeld = `SELECT id, fence, deliveries FROM perdure_runs INDEXED BY perdure_runs_owner
  WHERE owner = ?`

/** The statements of `reap` that look for something. */
export const reapStatements = {
  // From owner to owner, so that the cost depends on the workers and not on their runs.
  firstOwner: `SELECT owner FROM perdure_runs INDEXED BY perdure_runs_owner
    WHERE owner IS NOT NULL ORDER BY owner LIMIT 1`,
  nextOwner: `SELECT owner FROM perdure_runs INDEXED BY perdure_runs_owner
    WHERE owner IS NOT NULL AND owner > ? ORDER BY owner LIMIT 1`,
  heldBy: `SELECT number, id, deaths FROM perdure_runs INDEXED BY perdure_runs_owner WHERE owner = ? LIMIT ?`,
  idleDead: `SELECT id FROM perdure_workers WHERE expires_at <= ?
    AND NOT EXISTS (SELECT 1 FROM perdure_runs INDEXED BY perdure_runs_owner WHERE owner = perdure_workers.id)`,
}

const free = `UPDATE perdure_runs SET
  status = CASE pause_requested WHEN 1 THEN 'paused' ELSE 'pending' END,
  paused_from = CASE pause_requested WHEN 1 THEN 'pending' ELSE NULL END,
  pause_requested = 0, due_at = ?, owner = NULL, attempt = attempt + 1, deaths = deaths + 1
  WHERE number = ?`

/** Renews, registers or ends a worker's lease. */
export function heartbeat(database: Database, worker: WorkerLease, now: number): Heartbeat {
  const { id, leaseMs } = worker
  const alive = worker.register || hasLease(database, id, now)
  if (leaseMs === 0) database.run(resign, id)
  else if (worker.register) database.run(register, id, now + leaseMs)
  else if (alive) database.run(renew, now + leaseMs, id)
  return { alive, held: database.all<HeldRun>(selectHeld, id).map(toHeldRun) }
}

/** Frees up to `limit` runs of workers without a lease, whether it ran out or was never registered. */
export function reap(database: Database, now: number, limit: number): readonly string[] {
  const freed: string[] = []
  for (const owner of owners(database)) {
    if (freed.length >= limit) break
    if (hasLease(database, owner, now)) continue
    const held = database.all<{ number: number; id: string; deaths: number }>(
      reapStatements.heldBy,
      owner,
      limit - freed.length,
    )
    for (const { number, id, deaths } of held) {
      database.run(free, dueAfterDeath({ deaths }, freed.length, now), number)
      freed.push(id)
    }
  }
  for (const { id } of database.all<{ id: string }>(reapStatements.idleDead, now)) database.run(resign, id)
  return freed
}

function* owners(database: Database): Generator<string> {
  let row = database.get<{ owner: string }>(reapStatements.firstOwner)
  while (row !== undefined) {
    yield row.owner
    row = database.get<{ owner: string }>(reapStatements.nextOwner, row.owner)
  }
}

function hasLease(database: Database, worker: string, now: number): boolean {
  return database.get(selectLease, worker, now) !== undefined
}

/** A plain object: rows have no prototype, which would show after the thread boundary. */
function toHeldRun({ id, fence, deliveries }: HeldRun): HeldRun {
  return { id, fence, deliveries }
}
