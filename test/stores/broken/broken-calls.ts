import { isTerminal, type RunRecord } from '../../../src/core/run.ts'
import { type Break, claims, order, patch, requests } from './tools.ts'

/** Stores that break a promise about any other call, by what they do wrong. */
export const brokenCalls: Readonly<Record<string, Break>> = {
  'claim does not raise the fence': claims((run) => ({ fence: run.fence - 1 })),
  'claim starts the deadline again': claims((run) => ({
    deadline: run.policy.timeout === null ? null : Number.MAX_SAFE_INTEGER,
  })),
  'claim takes runs that are not due': requests((request) => ({ ...request, now: request.now + 1_000 })),
  'claim ignores the limit': requests((request) => ({ ...request, limit: 1_000 })),
  'claim ignores the queue': requests((request) => ({ ...request, queues: null })),
  'claim ignores the version': requests((request, data) => ({
    ...request,
    workflows: [...data.rows()]
      .map(({ run }) => ({ name: run.workflow, version: run.version }))
      .filter(({ name }) => request.workflows.some((workflow) => workflow.name === name)),
  })),
  'claim ignores the priority': order((a, b) => dueAt(a) - dueAt(b)),
  'claim ignores how long a run has been due': order(
    (a, b) => b.priority - a.priority || dueAt(b) - dueAt(a),
  ),
  'claim hands out runs twice': (store, data) => ({
    ...store,
    async claim({ worker, limit, now }) {
      const due = [...data.rows()].map(({ run }) => run).filter((run) => isDue(run, now))
      // The gap between looking and taking, in which another claim looks too.
      await Promise.resolve()
      return due.slice(0, limit).map((run) => {
        patch(data, run.id, () => ({ status: 'running', owner: worker, dueAt: null, fence: run.fence + 1 }))
        return data.row(run.id)?.run ?? run
      })
    },
  }),
  'heartbeat revives a lost lease': (store) => ({
    ...store,
    heartbeat: (worker, now) => store.heartbeat({ ...worker, register: true }, now),
  }),
  'heartbeat does not know what is held': (store) => ({
    ...store,
    heartbeat: async (worker, now) => ({ ...(await store.heartbeat(worker, now)), held: [] }),
  }),
  'reap takes the runs of live workers': (store, data) => ({
    ...store,
    async reap(now, limit) {
      data.leases.clear()
      return store.reap(now, limit)
    },
  }),
  'reap leaves orphans': (store, data) => ({
    ...store,
    async reap(now, limit) {
      for (const owner of data.owners()) if (!data.leases.has(owner)) data.leases.set(owner, now + 1)
      return store.reap(now, limit)
    },
  }),
  'reap does not count the attempt': (store, data) => ({
    ...store,
    async reap(now, limit) {
      const ids = await store.reap(now, limit)
      for (const id of ids) patch(data, id, (run) => ({ attempt: run.attempt - 1 }))
      return ids
    },
  }),
  'reap ignores the limit': (store) => ({ ...store, reap: (now) => store.reap(now, 1_000) }),
  'prune deletes parked runs': (store, data) => ({
    ...store,
    async prune(now, limit) {
      const parked = [...data.rows()].filter(({ run }) => !isTerminal(run.status) && run.status !== 'running')
      for (const row of parked) data.remove(row)
      return store.prune(now, limit)
    },
  }),
  'prune ignores the retention': (store) => ({ ...store, prune: (_, limit) => store.prune(Infinity, limit) }),
  'prune ignores the limit': (store) => ({ ...store, prune: (now) => store.prune(now, 1_000) }),
  'nextDue looks at all queues': (store) => ({
    ...store,
    nextDue: (request) => store.nextDue({ ...request, queues: null }),
  }),
  'pages repeat a run': (store) => ({
    ...store,
    async listRuns({ cursor, ...filter }) {
      const page = await store.listRuns({ ...filter, cursor: cursor?.split('|')[0] })
      const before = cursor === undefined ? null : await store.getRun(cursor.split('|')[1] ?? '')
      const runs = before === null ? page.runs : [before, ...page.runs.slice(0, filter.limit - 1)]
      return { runs, cursor: page.cursor === null ? null : `${page.cursor}|${page.runs.at(-1)?.id}` }
    },
  }),
  'pages are counted from the newest': (store) => ({
    ...store,
    async listRuns({ cursor, limit, ...filter }) {
      const { runs } = await store.listRuns({ ...filter, limit: 1_000 })
      const end = Number(cursor ?? 0) + limit
      return { runs: runs.slice(end - limit, end), cursor: end < runs.length ? String(end) : null }
    },
  }),
  'a tag matches a part of another': (store) => ({
    ...store,
    async listRuns({ tag, ...filter }) {
      const page = await store.listRuns(filter)
      const has = (run: RunRecord): boolean =>
        tag === undefined || run.tags.some((other) => other.includes(tag))
      return { ...page, runs: page.runs.filter(has) }
    },
  }),
  'journal forgets the inbox': (store) => ({
    ...store,
    journal: async (ids, options) =>
      (await store.journal(ids, options)).map((row) => ({ ...row, inbox: [] })),
  }),
  'stats count what was deleted': (store) => {
    const seen = new Map<string, RunRecord>()
    return {
      ...store,
      async getRun(id) {
        const run = await store.getRun(id)
        if (run !== null) seen.set(id, run)
        return run
      },
      async stats() {
        const counts = await store.stats()
        return counts.length > 0 ? counts : [...seen.values()].map((run) => ({ ...run, count: 1 }))
      },
    }
  },
  'a closed store goes on': (store) => ({ ...store, close: async () => {} }),
}

function dueAt(run: RunRecord): number {
  return run.dueAt ?? 0
}

function isDue({ status, dueAt }: RunRecord, now: number): boolean {
  return (status === 'pending' || status === 'waiting') && dueAt !== null && dueAt <= now
}
