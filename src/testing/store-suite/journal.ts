import assert from 'node:assert/strict'
import {
  advanceOf,
  apply,
  arrived,
  createOf,
  deliverOf,
  entryOf,
  itemOf,
  runOf,
  sorted,
  started,
  WAITING,
} from './fixture.ts'
import type { Suite } from './suite.ts'

export function journalTests({ describe, scenario }: Suite): void {
  describe('journal', () => {
    scenario('returns nothing for no runs', async (store) => {
      assert.deepEqual(await store.journal([], { entries: true }), [])
    })

    scenario('returns run, entries and inbox of each run, and says which are missing', async (store) => {
      const a = await started(store, { id: 'a' })
      await apply(store, advanceOf(a, null, { entries: [entryOf('one')] }))
      await arrived(store, 'b', WAITING)
      await apply(store, deliverOf('b', itemOf('i')))
      const journals = await store.journal(['b', 'nobody', 'a'], { entries: true })
      const byId = new Map(journals.map((journal) => [journal.runId, journal]))
      assert.equal(journals.length, 3)
      assert.deepEqual(byId.get('a'), { runId: 'a', run: a, entries: [entryOf('one')], inbox: [] })
      assert.deepEqual(byId.get('b'), {
        runId: 'b',
        run: await runOf(store, 'b'),
        entries: [],
        inbox: [itemOf('i')],
      })
      assert.deepEqual(byId.get('nobody'), { runId: 'nobody', run: null, entries: [], inbox: [] })
    })

    scenario('leaves the entries out if they are not asked for', async (store) => {
      const run = await started(store, { id: 'a' })
      await apply(store, deliverOf('a', itemOf('i')))
      await apply(store, advanceOf(run, null, { entries: [entryOf('one')] }))
      const [journal] = await store.journal(['a'], { entries: false })
      assert.deepEqual(journal, {
        runId: 'a',
        run: await runOf(store, 'a'),
        entries: [],
        inbox: [itemOf('i')],
      })
    })

    scenario('returns all of a long journal and of a long inbox', async (store) => {
      const run = await started(store, { id: 'a' })
      const keys = Array.from({ length: 2_500 }, (_, i) => `step#${i}`)
      await apply(store, advanceOf(run, null, { entries: keys.map((key) => entryOf(key)) }))
      await store.commit(
        keys.map((key) => deliverOf('a', itemOf(key))),
        0,
      )
      const [journal] = await store.journal(['a'], { entries: true })
      assert.deepEqual(sorted(journal?.entries.map((entry) => entry.key) ?? []), sorted(keys))
      assert.deepEqual(
        journal?.inbox.map((item) => item.id),
        keys,
      )
    })

    scenario('reads many runs at once', async (store) => {
      const ids = Array.from({ length: 1_200 }, (_, i) => `run-${i}`)
      await store.commit(
        ids.map((id) => createOf({ id, entries: [entryOf(id)] })),
        0,
      )
      const journals = await store.journal(ids, { entries: true })
      assert.deepEqual(
        sorted(journals.map(({ runId, entries }) => `${runId} ${entries[0]?.key}`)),
        sorted(ids.map((id) => `${id} ${id}`)),
      )
    })
  })
}
