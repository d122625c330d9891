import assert from 'node:assert/strict'
import { MongoClient } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import type { RunRecord } from '../../src/core/run.ts'
import type { AdvanceWrite, Store } from '../../src/ports/store.ts'
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
  FAILED,
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
/** When whoever wrote an outbox has had its time. */
const LATER = T + 10_000

describe.skipIf(url === null)('a process that dies at any of its writes to MongoDB', () => {
  const client = new MongoClient(url ?? 'mongodb://127.0.0.1')
  afterAll(() => client.close())

  /** All that a run may do to others, in one write. */
  function everything(run: RunRecord, size = 1): AdvanceWrite {
    const value = `"${'x'.repeat(size)}"`
    return advanceOf(run, COMPLETED, {
      entries: [entryOf('last', { value })],
      children: [{ run: newRun({ id: 'child', key: 'k', input: value }), claimedBy: null }],
      deliveries: [{ runId: 'parent', item: itemOf('o', { payload: value }) }],
      cancels: [{ runId: 'victim', reason: 'r', error: '"e"' }],
    })
  }

  async function prepared(store: Store): Promise<RunRecord> {
    await arrived(store, 'parent', WAITING)
    await arrived(store, 'victim', WAITING)
    return await started(store, { id: 'a' })
  }

  async function assertNothing(store: Store): Promise<void> {
    const { run, entries } = await journalOf(store, 'a')
    assert.deepEqual([run?.status, entries.length], ['running', 0])
    assert.equal(await store.getRun('child'), null)
    assert.equal((await runOf(store, 'parent')).deliveries, 0)
    assert.equal((await runOf(store, 'victim')).cancelReason, null)
  }

  async function assertEverything(store: Store, write: AdvanceWrite): Promise<void> {
    const { run, entries } = await journalOf(store, 'a')
    assert.deepEqual([run?.status, entries], ['completed', write.entries])
    assert.equal((await runOf(store, 'child')).createdAt, T)
    const parent = await journalOf(store, 'parent')
    assert.deepEqual([parent.run?.deliveries, parent.run?.dueAt], [1, T])
    assert.deepEqual(
      parent.inbox,
      write.deliveries.map(({ item }) => item),
    )
    assert.deepEqual((await runOf(store, 'victim')).cancelReason, 'r')
  }

  /** For each write of `call`, and one that there is not: dies there, and has `check` look at what is left. */
  async function atEveryWrite(
    setUp: (store: Store) => Promise<(store: Store) => Promise<unknown>>,
    check: (store: Store, info: { readonly finished: boolean; readonly at: string }) => Promise<void>,
  ): Promise<number> {
    for (let number = 1; ; number++) {
      for (const moment of ['before', 'after'] as const) {
        const { db, store } = await freshStore(client)
        const call = await setUp(store)
        const dying = dyingAt(db, number, moment)
        await call(mongo(dying.db)).catch((error: unknown) => {
          expect(String(error)).toContain('this process is dead')
        })
        await check(store, { finished: !dying.isDead(), at: `${moment} write ${number}` })
        if (!dying.isDead()) return number - 1
      }
    }
  }

  for (const [size, text] of [
    [1, 'small'],
    [300_000, 'large'],
  ] as const) {
    it(`has written ${text} children, deliveries and cancels either not at all or, after a sweep, wholly`, async () => {
      let applied = 0
      const writes = await atEveryWrite(
        async (store) => {
          const write = everything(await prepared(store), size)
          return (dying) => dying.commit([write], T)
        },
        async (store, { finished }) => {
          const { status } = await runOf(store, 'a')
          await store.reap(LATER, 10)
          const run = { id: 'a', owner: 'worker-1', fence: 1 } as RunRecord
          if (status === 'completed') applied++
          if (finished) assert.equal(status, 'completed')
          // The sweep frees the run of a worker that has no lease; that is not what this is about.
          if (status === 'completed') await assertEverything(store, everything(run, size))
          else assert.equal(await store.getRun('child'), null)
        },
      )
      expect(writes).toBeGreaterThanOrEqual(3)
      expect(applied).toBeGreaterThan(writes)
    })
  }

  it('leaves nothing half done before the one write that counts', async () => {
    const { db, store } = await freshStore(client)
    const write = everything(await prepared(store))
    const dying = dyingAt(db, 1, 'before')
    await expect(mongo(dying.db).commit([write], T)).rejects.toThrow('this process is dead')
    await assertNothing(store)
    await store.commit([write], T)
    await assertEverything(store, write)
  })

  it('may send the batch again, whatever was applied', async () => {
    await atEveryWrite(
      async (store) => {
        const write = everything(await prepared(store))
        return (dying) => dying.commit([write], T)
      },
      async (store) => {
        const write = everything({ id: 'a', owner: 'worker-1', fence: 1 } as RunRecord)
        const [result] = await store.commit([write], T)
        assert.ok(result?.status === 'ok' || result?.status === 'fenced')
        await store.reap(LATER, 10)
        await assertEverything(store, write)
      },
    )
  })

  it('has its outbox emptied before the run is claimed again, pruned or deleted', async () => {
    for (const next of ['claim', 'prune', 'delete'] as const) {
      const { db, store } = await freshStore(client)
      const run = await prepared(store)
      const to = next === 'claim' ? ({ status: 'pending', dueAt: T, seen: 0 } as const) : COMPLETED
      const write = { ...everything(run), to: next === 'claim' ? { ...run, ...to, error: null } : COMPLETED }
      const dying = dyingAt(db, 2, 'before')
      await expect(mongo(dying.db).commit([write], T)).rejects.toThrow('this process is dead')
      assert.equal(await store.getRun('child'), null)
      if (next === 'claim') assert.ok((await claimIds(store)).includes('a'))
      if (next === 'prune') assert.equal(await store.prune(T + POLICY.retention, 10), 1)
      if (next === 'delete') await apply(store, controlOf('delete', 'a'))
      assert.equal((await runOf(store, 'child')).createdAt, T)
      assert.equal((await runOf(store, 'parent')).deliveries, 1)
    }
  })

  it('has its outbox emptied by the next write to the run, such as the same batch sent again', async () => {
    const { db, store } = await freshStore(client)
    const write = everything(await prepared(store))
    const dying = dyingAt(db, 2, 'before')
    await expect(mongo(dying.db).commit([write], T)).rejects.toThrow('this process is dead')
    assert.equal((await store.commit([write], T))[0]?.status, 'fenced')
    await assertEverything(store, write)
  })

  it('does not cancel a run again that was revived since', async () => {
    const { db, store } = await freshStore(client)
    await apply(store, createOf({ id: 'victim' }))
    const run = await started(store, { id: 'a' })
    const cancels = [{ runId: 'victim', reason: 'r', error: '"e"' }]
    // Its third write empties the outbox.
    const dying = dyingAt(db, 3, 'before')
    const call = mongo(dying.db).commit([advanceOf(run, null, { cancels })], T)
    await expect(call).rejects.toThrow('this process is dead')
    assert.equal((await runOf(store, 'victim')).status, 'cancelled')
    await apply(store, controlOf('revive', 'victim'))
    await store.reap(LATER, 10)
    assert.equal((await runOf(store, 'victim')).status, 'pending')
  })

  it('has moved a large journal and inbox either way without losing or repeating anything', async () => {
    const keys = Array.from({ length: 400 }, (_, i) => `step ${i}`)
    const writes = await atEveryWrite(
      async (store) => {
        const run = await started(store, { id: 'a' })
        await store.commit(
          keys.slice(0, 20).map((key) => deliverOf('a', itemOf(key))),
          T,
        )
        const entries = keys.map((key) => entryOf(key, { value: `"${'x'.repeat(100)}"` }))
        const write = advanceOf(run, null, { entries, consumed: keys.slice(0, 5) })
        return (dying) => dying.commit([write], T)
      },
      async (store, { finished, at }) => {
        const { entries, inbox } = await journalOf(store, 'a')
        if (finished) assert.equal(entries.length, keys.length)
        assert.ok(entries.length === 0 || entries.length === keys.length, at)
        const expected = entries.length === 0 ? keys.slice(0, 20) : keys.slice(5, 20)
        assert.deepEqual(
          inbox.map(({ id }) => id),
          expected,
        )
        const again = await store.commit(
          [deliverOf('a', itemOf('step 0')), deliverOf('a', itemOf('step 9'))],
          T,
        )
        assert.deepEqual(
          again.map(({ status }) => status),
          ['duplicate', 'duplicate'],
        )
        // And the next write finds a run that it can work on.
        const run = await runOf(store, 'a')
        const late = [entryOf('step 7', { value: '"new"' })]
        await apply(store, advanceOf(run, FAILED, { number: 2, entries: late, consumed: ['step 9'] }))
        const after = await journalOf(store, 'a')
        assert.equal(after.entries.find(({ key }) => key === 'step 7')?.value, '"new"')
        assert.ok(!after.inbox.some(({ id }) => id === 'step 9'))
      },
    )
    expect(writes).toBeGreaterThanOrEqual(4)
  })

  it('has deleted a large run with all that belongs to it, or leaves that to the sweep', async () => {
    const writes = await atEveryWrite(
      async (store) => {
        const run = await started(store, { id: 'a' })
        const entries = ['one', 'two'].map((key) => entryOf(key, { value: `"${'x'.repeat(200_000)}"` }))
        await apply(store, advanceOf(run, COMPLETED, { entries }))
        return (dying) => dying.prune(T + POLICY.retention, 10)
      },
      async (store) => {
        const left = await store.getRun('a')
        if (left !== null) assert.equal((await journalOf(store, 'a')).entries.length, 2)
        await store.prune(T + POLICY.retention, 10)
        assert.equal(await store.getRun('a'), null)
        await apply(store, createOf({ id: 'a' }))
        assert.deepEqual((await journalOf(store, 'a')).entries, [])
      },
    )
    expect(writes).toBe(5)
  })
})
