import assert from 'node:assert/strict'
import { MongoClient } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { mongo } from '../../src/stores/mongo/index.ts'
import type { RunDocument } from '../../src/stores/mongo/schema.ts'
import {
  advanceOf,
  apply,
  arrived,
  COMPLETED,
  commitOne,
  createOf,
  deliverOf,
  entryOf,
  itemOf,
  journalOf,
  newRun,
  POLICY,
  runOf,
  started,
  T,
  WAITING,
} from '../../src/testing/store-suite/fixture.ts'
import { serviceOrSkip } from '../services/service.ts'
import { dyingAt, freshStore } from './kit.ts'

const url = await serviceOrSkip('mongo')
const MIB = 1024 * 1024
const range = (length: number): readonly number[] => Array.from({ length }, (_, i) => i)
const text = (bytes: number): string => `"${'x'.repeat(bytes - 2)}"`

describe.skipIf(url === null)('large runs on MongoDB', () => {
  const client = new MongoClient(url ?? 'mongodb://127.0.0.1')
  afterAll(() => client.close())

  it('keep their document small, however many steps they have', async () => {
    const { db, store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    const keys = range(5_000).map((i) => `step ${i}`)
    for (const [i, key] of keys.entries()) {
      // In batches, as an engine does that executes a loop of short steps.
      if (i % 25 !== 0) continue
      const writes = keys
        .slice(i, i + 25)
        .map((step, j) =>
          advanceOf(run, null, { number: i + j + 1, entries: [entryOf(step, { value: `"${key}"` })] }),
        )
      await store.commit(writes, T)
    }
    const runs = db.collection<RunDocument>('perdure_runs')
    const document = await runs.findOne({ _id: 'a' })
    expect(JSON.stringify(document).length).toBeLessThan(150_000)
    const { entries } = await journalOf(store, 'a')
    assert.deepEqual(new Set(entries.map(({ key }) => key)), new Set(keys))
    assert.equal(entries.length, keys.length)
  })

  it('take an inbox of thousands, each item once, in order, consumed or not', async () => {
    const { store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    const ids = range(3_000).map((i) => `event ${i}`)
    for (const i of range(30)) {
      const batch = ids.slice(i * 100, i * 100 + 100)
      const consumed = batch.filter((_, j) => j % 2 === 0)
      await store.commit(
        batch.map((id) => deliverOf('a', itemOf(id))),
        T,
      )
      await apply(store, advanceOf(run, null, { number: i + 1, consumed }))
    }
    const { inbox, run: after } = await journalOf(store, 'a')
    assert.deepEqual(
      inbox.map(({ id }) => id),
      ids.filter((_, i) => i % 2 === 1),
    )
    assert.equal(after?.deliveries, 3_000)
    const again = await store.commit(
      ids.map((id) => deliverOf('a', itemOf(id))),
      T,
    )
    assert.ok(again.every(({ status }) => status === 'duplicate'))
  })

  it('keep their journals and inboxes apart, whatever is called the same in them', async () => {
    const { store } = await freshStore(client)
    const ids = ['a', 'b']
    for (const id of ids) {
      const run = await started(store, { id })
      await apply(store, deliverOf(id, itemOf('i', { payload: id })))
      const entries = range(400).map((i) => entryOf(`step ${i}`, { value: id.repeat(200) }))
      await apply(store, advanceOf(run, null, { entries }))
    }
    for (const { runId, entries, inbox } of await store.journal(ids, { entries: true })) {
      assert.equal(entries.length, 400)
      assert.ok(entries.every(({ value }) => value === runId.repeat(200)))
      assert.deepEqual(inbox, [itemOf('i', { payload: runId })])
    }
  })

  it('take a write of many values of 1 MiB', async () => {
    const { store } = await freshStore(client)
    const run = await started(store, { id: 'a', input: text(MIB) })
    const entries = range(20).map((i) => entryOf(`step ${i}`, { value: text(MIB) }))
    await apply(store, advanceOf(run, null, { entries }))
    const { entries: found } = await journalOf(store, 'a')
    assert.deepEqual(
      new Map(found.map((entry) => [entry.key, entry])),
      new Map(entries.map((e) => [e.key, e])),
    )
    const replaced = [entryOf('step 3', { value: '"small now"' })]
    await apply(store, advanceOf(run, COMPLETED, { number: 2, entries: replaced }))
    const after = (await journalOf(store, 'a')).entries
    assert.equal(after.length, 20)
    assert.deepEqual(
      after.find(({ key }) => key === 'step 3'),
      replaced[0],
    )
  })

  it('are created with a long and large journal', async () => {
    const { store } = await freshStore(client)
    const entries = range(24).map((i) => entryOf(`step ${i}`, { value: text(MIB) }))
    await apply(store, createOf({ id: 'a', entries }))
    assert.equal((await journalOf(store, 'a')).entries.length, 24)
    // The journal of one that is not created leaves nothing.
    assert.equal((await commitOne(store, createOf({ id: 'a', entries }))).status, 'existing')
    assert.equal((await journalOf(store, 'a')).entries.length, 24)
  })

  it('have large children, and tell large things to others', async () => {
    const { store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    await arrived(store, 'parent', WAITING)
    const children = range(20).map((i) => ({
      run: newRun({ id: `child-${i}`, input: text(MIB) }),
      claimedBy: null,
    }))
    const deliveries = range(18).map((i) => ({
      runId: 'parent',
      item: itemOf(`i-${i}`, { payload: text(MIB) }),
    }))
    await apply(store, advanceOf(run, WAITING, { children, deliveries }))
    for (const child of children) assert.equal((await runOf(store, child.run.id)).input, child.run.input)
    assert.deepEqual(
      (await journalOf(store, 'parent')).inbox,
      deliveries.map(({ item }) => item),
    )
  })

  it('end with an output of 10 MiB', async () => {
    const { store } = await freshStore(client)
    const run = await started(store, { id: 'a', input: text(2 * MIB) })
    await apply(store, advanceOf(run, { ...COMPLETED, output: text(10 * MIB) }))
    assert.equal((await runOf(store, 'a')).output?.length, 10 * MIB)
  })

  it('are refused what does not fit into a document, and nothing else of the batch', async () => {
    const { store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    const full = await started(store, { id: 'full', input: text(9 * MIB) })
    const huge = text(17 * MIB)
    const results = await store.commit(
      [
        createOf({ id: 'b', input: huge }),
        advanceOf(run, null, { entries: [entryOf('one', { value: huge })] }),
        advanceOf(run, { ...COMPLETED, output: huge }),
        deliverOf('a', itemOf('i', { payload: huge })),
        advanceOf(run, null, { children: [{ run: newRun({ id: 'c', input: huge }), claimedBy: null }] }),
        advanceOf(full, { ...COMPLETED, output: text(9 * MIB) }),
        // Stored, each of these characters takes five bytes.
        deliverOf('a', itemOf('j', { payload: '\u007f'.repeat(4 * MIB) })),
        advanceOf(run, null, { entries: [entryOf('kept')] }),
      ],
      T,
    )
    assert.deepEqual(
      results.map(({ status }) => status),
      [...range(7).map(() => 'error'), 'ok'],
    )
    const [first] = results
    assert.match(first?.status === 'error' ? first.message : '', /The run takes 17\.\d MiB.*16 MiB/)
    const { entries, inbox, run: after } = await journalOf(store, 'a')
    assert.deepEqual([entries, inbox, after], [[entryOf('kept')], [], run])
    assert.deepEqual(await runOf(store, 'full'), full)
  })

  it('leave nothing in any collection when they are pruned', async () => {
    const { db, store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    await store.commit(
      range(400).map((i) => deliverOf('a', itemOf(`i-${i}`))),
      T,
    )
    const entries = range(4).map((i) => entryOf(`step ${i}`, { value: text(MIB) }))
    const children = range(2).map((i) => ({
      run: newRun({ id: `child-${i}`, input: text(MIB) }),
      claimedBy: null,
    }))
    await apply(store, advanceOf(run, COMPLETED, { entries, children }))
    assert.equal(await db.collection('perdure_inbox').countDocuments(), 400)
    assert.equal(await db.collection('perdure_journal').countDocuments(), 4)
    assert.equal(await store.prune(T + POLICY.retention, 10), 1)
    for (const name of ['journal', 'inbox', 'removals']) {
      assert.equal(await db.collection(`perdure_${name}`).countDocuments(), 0, name)
    }
    assert.equal(await db.collection('perdure_runs').countDocuments(), 2)
  })

  it('do not know what was to be a part of them, and that goes with them', async () => {
    const { db, store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    const entries = [entryOf('one', { value: text(MIB) })]
    const dying = dyingAt(db, 2, 'before')
    await expect(mongo(dying.db).commit([advanceOf(run, null, { entries })], T)).rejects.toThrow('is dead')
    assert.equal(await db.collection('perdure_journal').countDocuments(), 1)
    assert.deepEqual((await journalOf(store, 'a')).entries, [])
    await apply(store, advanceOf(run, COMPLETED, { number: 2 }))
    assert.equal(await store.prune(T + POLICY.retention, 10), 1)
    assert.equal(await db.collection('perdure_journal').countDocuments(), 0)
  })

  it('that were deleted by a process which died are cleaned up by the sweep', async () => {
    const { db, store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    const entries = [entryOf('one', { value: text(MIB) })]
    await apply(store, advanceOf(run, COMPLETED, { entries }))
    const document = await db.collection<RunDocument>('perdure_runs').findOne({ _id: 'a' })
    const removals = db.collection<{ _id: string; run: string; at: number }>('perdure_removals')
    // One that died before it deleted the run, and one that died after.
    await removals.insertOne({ _id: document?.uid ?? '', run: 'a', at: T })
    await store.reap(T + 61_000, 10)
    assert.deepEqual((await journalOf(store, 'a')).entries, entries)
    await removals.insertOne({ _id: document?.uid ?? '', run: 'a', at: T })
    await db.collection<RunDocument>('perdure_runs').deleteOne({ _id: 'a' })
    await store.reap(T + 59_000, 10)
    assert.equal(await db.collection('perdure_journal').countDocuments(), 1)
    await store.reap(T + 61_000, 10)
    assert.equal(await db.collection('perdure_journal').countDocuments(), 0)
    assert.equal(await removals.countDocuments(), 0)
  })
})
