import type { Store } from '../../ports/store.ts'
import { checkPage } from '../sql/cursor.ts'
import type { ThreadClient } from './client.ts'
import { packWrites, unpackJournals, unpackResults } from './packing.ts'

/** The store as the engine sees it: each method is a call to the thread. */
export function threadedStore(name: string, thread: ThreadClient): Store {
  return {
    name,
    migrate: (options = {}) => thread.call('migrate', options),
    async commit(writes, now) {
      return unpackResults(await thread.call('commit', packWrites(writes), now))
    },
    claim: (request) => thread.call('claim', request),
    async journal(runIds, options) {
      return unpackJournals(await thread.call('journal', runIds, options))
    },
    heartbeat: (worker, now) => thread.call('heartbeat', worker, now),
    reap: (now, limit) => thread.call('reap', now, limit),
    nextDue: (request) => thread.call('nextDue', request),
    getRun: (id) => thread.call('getRun', id),
    async listRuns(filter) {
      // Checked here: an error of the caller should not travel through the thread as a failure of the store.
      checkPage(filter)
      return thread.call('listRuns', filter)
    },
    stats: () => thread.call('stats'),
    prune: (now, limit) => thread.call('prune', now, limit),
    close: () => thread.close(),
  }
}
