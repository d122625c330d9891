import assert from 'node:assert/strict'
import { MongoClient } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { mongo } from '../../src/stores/mongo/index.ts'
import {
  advanceOf,
  apply,
  arrived,
  COMPLETED,
  claimIds,
  controlOf,
  createOf,
  deliverOf,
  entryOf,
  itemOf,
  journalOf,
  newRun,
  runOf,
  sorted,
  started,
  T,
  WAITING,
} from '../../src/testing/store-suite/fixture.ts'
import { serviceOrSkip } from '../services/service.ts'
import { freshStore, holding } from './kit.ts'

const url = await serviceOrSkip('mongo')
const range = (length: number): readonly number[] => Array.from({ length }, (_, i) => i)

describe.skipIf(url === null)('many processes at once on MongoDB', () => {
  const client = new MongoClient(url ?? 'mongodb://127.0.0.1')
  afterAll(() => client.close())

  it('hand out 50 runs to 80 claimers once each, and leave nobody without while there are some', async () => {
    const { db, store } = await freshStore(client)
    const ids = range(50).map((i) => `run-${i}`)
    await store.commit(
      ids.map((id) => createOf({ id })),
      T,
    )
    const stores = range(4).map(() => mongo(db))
    const taken = await Promise.all(
      range(80).map(async (i) => {
        const own = await claimIds(stores[i % 4] ?? store, { worker: `worker-${i}`, limit: 1 })
        return { worker: `worker-${i}`, own }
      }),
    )
    assert.deepEqual(sorted(taken.flatMap(({ own }) => own)), sorted(ids))
    for (const { worker, own } of taken) {
      for (const id of own) assert.equal((await runOf(store, id)).owner, worker)
    }
  })

  it('leave the less urgent runs while there are more urgent ones', async () => {
    const { db, store } = await freshStore(client)
    await store.commit(
      range(40).map((i) => createOf({ id: `run-${i}`, priority: i < 20 ? 0 : 9 })),
      T,
    )
    const taken = await Promise.all(range(10).map((i) => claimIds(mongo(db), { worker: `w-${i}`, limit: 2 })))
    assert.deepEqual(sorted(taken.flat()), sorted(range(20).map((i) => `run-${i + 20}`)))
  })

  it('lose no delivery to one run, and count each once', async () => {
    const { db, store } = await freshStore(client)
    await arrived(store, 'a', WAITING)
    const stores = range(4).map(() => mongo(db))
    const results = await Promise.all(
      range(20).map((i) => (stores[i % 4] ?? store).commit([deliverOf('a', itemOf(`i-${i}`))], T)),
    )
    assert.ok(results.flat().every(({ status }) => status === 'ok'))
    const { run, inbox } = await journalOf(store, 'a')
    assert.equal(run?.deliveries, 20)
    assert.deepEqual(sorted(inbox.map(({ id }) => id)), sorted(range(20).map((i) => `i-${i}`)))
  })

  it('lose neither steps nor deliveries of a run that is written to from all sides while it is moved', async () => {
    const { db, store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    const value = `"${'x'.repeat(3_000)}"`
    const worker = mongo(db)
    const steps = async (): Promise<void> => {
      for (const i of range(40)) {
        const [result] = await worker.commit(
          [advanceOf(run, null, { number: i + 1, entries: [entryOf(`step ${i}`, { value })] })],
          T,
        )
        assert.equal(result?.status, 'ok')
      }
    }
    const senders = range(6).map(async (sender) => {
      const own = mongo(db)
      for (const i of range(15)) {
        const id = `${sender}-${i}`
        const results = await own.commit([deliverOf('a', itemOf(id, { payload: value }))], T)
        assert.equal(results[0]?.status, 'ok')
      }
    })
    let isOver = false
    const reader = (async () => {
      const own = mongo(db)
      let entriesBefore = 0
      let inboxBefore = 0
      while (!isOver) {
        const { entries, inbox, run: seen } = await journalOf(own, 'a')
        // As of one moment: as many items as were delivered by then, and never fewer than the time before.
        assert.equal(inbox.length, seen?.deliveries)
        assert.ok(entries.length >= entriesBefore && inbox.length >= inboxBefore)
        entriesBefore = entries.length
        inboxBefore = inbox.length
      }
    })()
    await Promise.all([steps(), ...senders])
    isOver = true
    await reader
    const { entries, inbox, run: after } = await journalOf(store, 'a')
    assert.deepEqual([entries.length, inbox.length, after?.deliveries], [40, 90, 90])
  })

  it('read a run as of one moment, whatever is written and moved between the parts of the reading', async () => {
    const { db, store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    const many = (name: string): ReturnType<typeof entryOf>[] =>
      range(400).map((i) => entryOf(`${name} ${i}`, { value: `"${'x'.repeat(100)}"` }))
    await apply(store, deliverOf('a', itemOf('i')))
    await apply(store, advanceOf(run, null, { number: 1, entries: many('first') }))
    const slow = holding(db, { collection: 'inbox', method: 'find' })
    const reading = mongo(slow.db).journal(['a'], { entries: true })
    await slow.held
    const taken = advanceOf(run, null, { number: 2, entries: many('second'), consumed: ['i'] })
    await apply(store, taken)
    await slow.release()
    const [journal] = await reading
    assert.deepEqual([journal?.inbox, journal?.entries.length], [[], 800])
  })

  it('create one run of many with the same key, and tell all others which', async () => {
    const { db, store } = await freshStore(client)
    const results = await Promise.all(
      range(20).map((i) => mongo(db).commit([createOf({ id: `run-${i}`, key: 'k' })], T)),
    )
    const [holder] = (await store.listRuns({ limit: 10 })).runs
    const others = results.flat().flatMap((result) => (result.status === 'existing' ? [result.run.id] : []))
    assert.deepEqual(
      others,
      range(19).map(() => holder?.id),
    )
  })

  it('apply a batch to the runs that others do not touch although they keep one of them busy', async () => {
    const { db, store } = await freshStore(client)
    await arrived(store, 'busy', WAITING)
    const run = await started(store, { id: 'a' })
    const others = range(10).map((i) => mongo(db).commit([deliverOf('busy', itemOf(`i-${i}`))], T))
    const results = await store.commit(
      [
        deliverOf('busy', itemOf('mine')),
        advanceOf(run, COMPLETED, {
          deliveries: [{ runId: 'busy', item: itemOf('end') }],
          children: [{ run: newRun({ id: 'child' }), claimedBy: null }],
        }),
        controlOf('wake', 'busy'),
      ],
      T,
    )
    await Promise.all(others)
    assert.deepEqual(
      results.map(({ status }) => status),
      ['ok', 'ok', 'ok'],
    )
    assert.equal((await runOf(store, 'busy')).deliveries, 12)
    expect(await store.getRun('child')).not.toBeNull()
    await apply(store, controlOf('wake', 'child'))
  })
})
