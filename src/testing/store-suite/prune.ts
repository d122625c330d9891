import assert from 'node:assert/strict'
import {
  advanceOf,
  apply,
  arrived,
  CANCELLED,
  COMPLETED,
  commitOne,
  completed,
  controlOf,
  createOf,
  deliverOf,
  entryOf,
  FAILED,
  itemOf,
  journalOf,
  PAUSED,
  POLICY,
  started,
  T,
  WAITING,
} from './fixture.ts'
import type { Suite } from './suite.ts'

const EXPIRED = T + POLICY.retention

export function pruneTests({ describe, scenario }: Suite): void {
  describe('prune', () => {
    for (const to of [COMPLETED, FAILED, CANCELLED]) {
      scenario(`deletes a run that is ${to.status}, when its retention is over`, async (store) => {
        await arrived(store, 'a', to)
        assert.equal(await store.prune(EXPIRED - 1, 10), 0)
        assert.ok(await store.getRun('a'))
        assert.equal(await store.prune(EXPIRED, 10), 1)
        assert.equal(await store.getRun('a'), null)
      })
    }

    scenario('deletes a run that was cancelled before it started', async (store) => {
      await apply(store, createOf({ id: 'a' }))
      await apply(store, { type: 'control', action: 'cancel', runId: 'a', reason: 'r', error: '"e"' })
      assert.equal(await store.prune(EXPIRED, 10), 1)
    })

    scenario('never deletes a run that has not ended, however old', async (store) => {
      await arrived(store, 'waiting', WAITING)
      await arrived(store, 'timer', { status: 'waiting', dueAt: T + 1, seen: 0 })
      await arrived(store, 'mismatch', PAUSED)
      await started(store, { id: 'running' })
      await apply(store, createOf({ id: 'pending' }))
      await apply(store, createOf({ id: 'paused' }))
      await apply(store, controlOf('pause', 'paused'))
      assert.equal(await store.prune(T + 1e12, 100), 0)
      assert.equal((await store.listRuns({ limit: 100 })).runs.length, 6)
    })

    scenario('deletes journal, inbox and key with the run', async (store) => {
      const run = await started(store, { id: 'a', key: 'k', tags: ['red'] })
      await apply(store, deliverOf('a', itemOf('i')))
      await apply(store, deliverOf('a', itemOf('j')))
      await apply(store, advanceOf(run, COMPLETED, { entries: [entryOf('one')], consumed: ['i'] }))
      await store.prune(EXPIRED, 10)
      assert.deepEqual(await journalOf(store, 'a'), { runId: 'a', run: null, entries: [], inbox: [] })
      assert.deepEqual((await store.listRuns({ limit: 10, tag: 'red' })).runs, [])
      assert.deepEqual(await store.stats(), [])
      await apply(store, createOf({ id: 'a', key: 'k' }))
      const fresh = await journalOf(store, 'a')
      assert.deepEqual([fresh.entries, fresh.inbox], [[], []])
      assert.equal((await commitOne(store, deliverOf('a', itemOf('i')))).status, 'ok')
    })

    scenario('leaves what belongs to other runs, also to its children', async (store) => {
      await completed(store, 'a')
      const child = await started(store, { id: 'child', parentId: 'a', parentStep: 's' })
      await apply(store, advanceOf(child, null, { entries: [entryOf('one')] }))
      assert.equal(await store.prune(EXPIRED, 10), 1)
      assert.deepEqual((await journalOf(store, 'child')).entries, [entryOf('one')])
    })

    scenario('deletes no more than the limit, and the rest the next time', async (store) => {
      for (const id of ['a', 'b', 'c', 'd', 'e']) await completed(store, id)
      assert.equal(await store.prune(EXPIRED, 2), 2)
      assert.equal((await store.listRuns({ limit: 10 })).runs.length, 3)
      assert.equal(await store.prune(EXPIRED, 2), 2)
      assert.equal(await store.prune(EXPIRED, 2), 1)
      assert.equal(await store.prune(EXPIRED, 2), 0)
    })

    scenario('goes by the retention of each run', async (store) => {
      const short = await started(store, { id: 'short', policy: { ...POLICY, retention: 10 } })
      const long = await started(store, { id: 'long', policy: { ...POLICY, retention: 1e10 } })
      await store.commit([advanceOf(short, COMPLETED), advanceOf(long, COMPLETED)], T)
      assert.equal(await store.prune(T + 10, 10), 1)
      assert.ok(await store.getRun('long'))
    })
  })
}
