import type { Store, Write } from '../ports/store.ts'

/** The calls of a store. */
export type StoreMethod = Exclude<keyof Store, 'name' | 'clock' | 'notifier'>

/**
 * Stands around every call of a store: may watch it, hold it up, refuse it, or never make it. `writes` are those
 * of a commit.
 */
export type AroundCall = <Result>(
  method: StoreMethod,
  call: () => Promise<Result>,
  writes?: readonly Write[],
) => Promise<Result>

/** A store whose every call goes through `around`. */
export function wrapStore(store: Store, around: AroundCall): Store {
  return {
    name: store.name,
    migrate: (options) => around('migrate', () => store.migrate(options)),
    commit: (writes, now) => around('commit', () => store.commit(writes, now), writes),
    claim: (request) => around('claim', () => store.claim(request)),
    journal: (runIds, options) => around('journal', () => store.journal(runIds, options)),
    heartbeat: (worker, now) => around('heartbeat', () => store.heartbeat(worker, now)),
    reap: (now, limit) => around('reap', () => store.reap(now, limit)),
    nextDue: (request) => around('nextDue', () => store.nextDue(request)),
    getRun: (id) => around('getRun', () => store.getRun(id)),
    listRuns: (filter) => around('listRuns', () => store.listRuns(filter)),
    stats: () => around('stats', () => store.stats()),
    prune: (now, limit) => around('prune', () => store.prune(now, limit)),
    close: () => around('close', () => store.close()),
  }
}
