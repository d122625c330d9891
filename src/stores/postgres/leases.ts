import { dueAfterDeath } from '../../core/run-machine.ts'
import type { Heartbeat, WorkerLease } from '../../ports/store.ts'
import { fromStoredText, toStoredText } from '../sql/text.ts'
import type { Connections } from './connections.ts'
import { numbers } from './types.ts'

interface HeartbeatRow {
  readonly alive: boolean
  /** Id, fence and deliveries of each run. */
  readonly held: readonly (readonly [string, number, number])[]
}

/** A heartbeat that is not answered by then would come too late anyway: there are three of them in a lease. */
const SHARE_OF_LEASE = 1 / 3

/** Renews, registers or ends a worker's lease. */
export async function heartbeat(
  connections: Connections,
  schema: string,
  worker: WorkerLease,
  now: number,
): Promise<Heartbeat> {
  const query = {
    text: `SELECT * FROM ${schema}.perdure_heartbeat($1, $2, $3, $4)`,
    values: [toStoredText(worker.id), worker.leaseMs, worker.register, now],
    types: numbers,
  }
  const timeoutMs =
    worker.leaseMs === 0 ? undefined : Math.max(MIN_TIMEOUT_MS, worker.leaseMs * SHARE_OF_LEASE)
  const [row] = await connections.critical<HeartbeatRow>(query, timeoutMs)
  const held = (row?.held ?? []).map(([id, fence, deliveries]) => ({
    id: fromStoredText(id),
    fence,
    deliveries,
  }))
  return { alive: row?.alive ?? false, held }
}

/** On a machine that is very busy, less would take an answer that is only late for a connection that is broken. */
const MIN_TIMEOUT_MS = 1_000

/** Frees up to `limit` runs of workers without a lease, whether it ran out or was never registered. */
export async function reap(
  connections: Connections,
  schema: string,
  now: number,
  limit: number,
): Promise<readonly string[]> {
  const rows = await connections.query<{ id: string }>({
    text: `SELECT id FROM ${schema}.perdure_reap($1, $2, $3) AS freed (id)`,
    values: [limit, distances, now],
    types: numbers,
  })
  return rows.map(({ id }) => fromStoredText(id))
}

/** The distances of `dueAfterDeath`, by the number of earlier deaths; the last one stays the same from there on. */
const distances = Array.from({ length: 16 }, (_, deaths) => dueAfterDeath({ deaths }, 1, 0))
