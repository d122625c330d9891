import { claim, nextDue } from './claim.ts'
import { commit } from './commit.ts'
import type { Database } from './database.ts'
import { heartbeat, reap } from './leases.ts'
import { listRuns } from './list.ts'
import { migrate } from './migrate.ts'
import { packJournals, packResults, unpackWrites } from './packing.ts'
import type { Arguments, Method, Request, Result } from './protocol.ts'
import { prune } from './prune.ts'
import { getRun, journal, stats } from './reads.ts'

type Operations = {
  readonly [M in Method]: (database: Database, ...args: Arguments<M>) => Result<M>
}

const operations: Operations = {
  migrate,
  commit: (database, writes, now) => packResults(commit(database, unpackWrites(writes), now)),
  claim,
  journal: (database, runIds, options) => packJournals(journal(database, runIds, options)),
  heartbeat,
  reap,
  nextDue,
  getRun,
  listRuns,
  stats,
  prune,
  close: (database) => database.close(),
}

/** Carries out a request; the caller has opened a transaction if one is needed. */
export function execute<M extends Method>(database: Database, request: Request<M>): Result<M> {
  return operations[request.method](database, ...request.args)
}

/** Whether a request writes in a transaction that it may share with others. */
export function sharesTransaction(request: Request): boolean {
  return sharing.has(request.method)
}

const sharing: ReadonlySet<Method> = new Set(['commit', 'claim', 'heartbeat', 'reap', 'prune'])

/** Whether everything that was asked before must be done before this request, and nothing with it. */
export function standsAlone({ method }: Request): boolean {
  return method === 'migrate' || method === 'close'
}
