import type { Store } from '../../ports/store.ts'
import { checkPage } from '../sql/cursor.ts'
import { claim, nextDue } from './claim.ts'
import { clock } from './clock.ts'
import { commit } from './commit.ts'
import type { Connection, Context } from './connection.ts'
import { heartbeat, reap } from './leases.ts'
import { listRuns } from './list.ts'
import { migrate, requireSchema } from './migrate.ts'
import { prune } from './prune.ts'
import { getRun, journal, stats } from './reads.ts'

/** A heartbeat that is not answered by then would come too late anyway: there are three of them in a lease. */
const SHARE_OF_LEASE = 1 / 3
const MIN_TIMEOUT_MS = 1_000

/** The calls of the store. */
export function mongoStore(connection: Connection): Store {
  const name = connection.place
  let isReady = false
  // Without its indexes a collection would be made by the first write, and take two runs with one key.
  const ready = async <Result>(
    body: (context: Context) => Promise<Result>,
    timeoutMs?: number,
  ): Promise<Result> =>
    await connection.call(async (context) => {
      if (!isReady) await requireSchema(context, name)
      isReady = true
      return await body(context)
    }, timeoutMs)
  return {
    name,
    migrate: ({ dryRun = false } = {}) => connection.call((context) => migrate(context, name, dryRun)),
    commit: (writes, now) => ready((context) => commit(context, writes, now)),
    claim: (request) => ready((context) => claim(context, request)),
    journal: (runIds, options) => ready((context) => journal(context, runIds, options)),
    heartbeat: (worker, now) =>
      ready(
        (context) => heartbeat(context, worker, now),
        worker.leaseMs === 0 ? undefined : Math.max(MIN_TIMEOUT_MS, worker.leaseMs * SHARE_OF_LEASE),
      ),
    reap: (now, limit) => ready((context) => reap(context, now, limit)),
    nextDue: (scope) => ready((context) => nextDue(context, scope)),
    getRun: (id) => ready((context) => getRun(context, id)),
    async listRuns(filter) {
      checkPage(filter)
      return await ready((context) => listRuns(context, filter))
    },
    stats: () => ready(stats),
    prune: (now, limit) => ready((context) => prune(context, now, limit)),
    clock: () => connection.call(clock),
    close: () => connection.close(),
  }
}
