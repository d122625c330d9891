import type { PostgresHub } from '../../notifiers/postgres/index.ts'
import type { Store } from '../../ports/store.ts'
import { checkPage } from '../sql/cursor.ts'
import { claim, nextDue } from './claim.ts'
import { commit } from './commit.ts'
import type { Connections } from './connections.ts'
import { heartbeat, reap } from './leases.ts'
import { migrate, type Place } from './migrate.ts'
import { getRun, journal, listRuns, stats } from './reads.ts'
import { numbers } from './types.ts'

/** The calls of the store, each of them one statement. */
export function postgresStore(
  connections: Connections,
  place: Place,
  hub: PostgresHub,
  closePool: () => Promise<void>,
): Store {
  const schema = place.quoted
  let closing: Promise<void> | null = null
  return {
    name: place.name,
    migrate: async ({ dryRun = false } = {}) => await migrate(connections, place, dryRun),
    commit: (writes, now) => commit(connections, schema, writes, now),
    claim: (request) => claim(connections, schema, request),
    journal: (runIds, options) => journal(connections, schema, runIds, options),
    heartbeat: (worker, now) => heartbeat(connections, schema, worker, now),
    reap: (now, limit) => reap(connections, schema, now, limit),
    nextDue: (scope) => nextDue(connections, schema, scope),
    getRun: (id) => getRun(connections, schema, id),
    async listRuns(filter) {
      checkPage(filter)
      return await listRuns(connections, schema, filter)
    },
    stats: () => stats(connections, schema),
    async prune(now, limit) {
      const [row] = await connections.query<{ deleted: number }>({
        text: `SELECT ${schema}.perdure_prune($1, $2) AS deleted`,
        values: [limit, now],
        types: numbers,
      })
      return row?.deleted ?? 0
    },
    async clock() {
      const [row] = await connections.query<{ now: number }>({
        text: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
        types: numbers,
      })
      return row?.now ?? Number.NaN
    },
    notifier: (log) => hub.notifier(log),
    close() {
      closing ??= hub
        .close()
        .then(() => connections.close())
        .then(closePool)
      return closing
    },
  }
}
