import assert from 'node:assert/strict'
import { MongoClient } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import type { ClaimRequest } from '../../src/ports/store.ts'
import { mongo } from '../../src/stores/mongo/index.ts'
import {
  advanceOf,
  apply,
  arrived,
  COMPLETED,
  claimIds,
  claimOne,
  controlOf,
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
  WORKFLOW,
} from '../../src/testing/store-suite/fixture.ts'
import { serviceOrSkip } from '../services/service.ts'
import { freshStore, holding } from './kit.ts'

const url = await serviceOrSkip('mongo')

describe.skipIf(url === null)('a call to MongoDB that is carried out after it was given up', () => {
  const client = new MongoClient(url ?? 'mongodb://127.0.0.1')
  afterAll(() => client.close())
  const runsWrite = { collection: 'runs', method: 'bulkWrite' }

  it('applies nothing of a batch that was sent again', async () => {
    const { db, store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    await arrived(store, 'parent', WAITING)
    const zombie = holding(db, runsWrite)
    const write = advanceOf(run, WAITING, {
      entries: [entryOf('one')],
      children: [{ run: newRun({ id: 'child', dueAt: T + 1_000 }), claimedBy: null }],
      deliveries: [{ runId: 'parent', item: itemOf('o') }],
    })
    const late = mongo(zombie.db, { timeout: 300 }).commit([write], T)
    await zombie.held
    await expect(late).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await apply(store, write)
    const heir = (await store.claim(request('heir')))[0]
    assert.equal(heir?.id, 'parent')
    const before = await journalOf(store, 'a')
    await zombie.release()
    assert.deepEqual(await journalOf(store, 'a'), before)
    assert.equal((await runOf(store, 'parent')).deliveries, 1)
  })

  it('replaces no entry of a later write', async () => {
    const { db, store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    const first = advanceOf(run, null, { number: 1, entries: [entryOf('step', { value: '"first"' })] })
    const second = advanceOf(run, null, { number: 2, entries: [entryOf('step', { value: '"second"' })] })
    const zombie = holding(db, { collection: 'runs', method: 'find' })
    const late = mongo(zombie.db).commit([first], T)
    await zombie.held
    await store.commit([first], T)
    await store.commit([second], T)
    // It has read nothing yet, so nothing keeps it from being applied but its number.
    await zombie.release()
    await late
    assert.equal((await journalOf(store, 'a')).entries[0]?.value, '"second"')
  })

  it('replaces no entry of a later write where that was moved out of the run', async () => {
    const { db, store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    const many = (value: string): ReturnType<typeof entryOf>[] =>
      Array.from({ length: 400 }, (_, i) => entryOf(`step ${i}`, { value: `"${value.repeat(100)}"` }))
    const zombie = holding(db, { collection: 'journal', method: 'bulkWrite' })
    const late = mongo(zombie.db).commit([advanceOf(run, null, { number: 1, entries: many('1') })], T)
    await zombie.held
    await apply(store, advanceOf(run, null, { number: 2, entries: many('2') }))
    const before = await journalOf(store, 'a')
    assert.ok(before.entries.every(({ value }) => value?.startsWith('"2')))
    await zombie.release()
    await late
    const { entries } = await journalOf(store, 'a')
    assert.equal(entries.length, 400)
    assert.ok(entries.every(({ value }) => value?.startsWith('"2')))
  })

  it('takes no run that was taken and let go since', async () => {
    const { db, store } = await freshStore(client)
    await apply(store, createOf({ id: 'a' }))
    const zombie = holding(db, runsWrite)
    const late = mongo(zombie.db, { timeout: 300 }).claim(request('zombie'))
    await zombie.held
    await expect(late).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await apply(store, advanceOf(await claimOne(store), { ...WAITING, dueAt: T }))
    await zombie.release()
    expect(await runOf(store, 'a')).toMatchObject({ status: 'waiting', owner: null, fence: 1 })
  })

  it('frees no run whose next owner holds it', async () => {
    const { db, store } = await freshStore(client)
    await started(store, { id: 'a' }, { worker: 'dead' })
    const zombie = holding(db, runsWrite)
    const late = mongo(zombie.db, { timeout: 300 }).reap(T, 10)
    await zombie.held
    await expect(late).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    assert.deepEqual(await store.reap(T, 10), ['a'])
    assert.deepEqual(await claimIds(store, { worker: 'heir' }), ['a'])
    await zombie.release()
    expect(await runOf(store, 'a')).toMatchObject({ status: 'running', owner: 'heir', deaths: 1 })
  })

  it('deletes no run that was revived', async () => {
    const { db, store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    const entries = [entryOf('one', { value: `"${'x'.repeat(300_000)}"` })]
    await apply(store, advanceOf(run, { ...COMPLETED, status: 'failed' }, { entries }))
    const zombie = holding(db, runsWrite)
    const late = mongo(zombie.db).prune(T + POLICY.retention, 10)
    await zombie.held
    await apply(store, controlOf('revive', 'a'))
    await zombie.release()
    assert.equal(await late, 0)
    assert.deepEqual((await journalOf(store, 'a')).entries, entries)
  })

  it('puts nothing into the journal of a run of the same id that was created since', async () => {
    const { db, store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    const entries = Array.from({ length: 400 }, (_, i) =>
      entryOf(`step ${i}`, { value: `"${'x'.repeat(100)}"` }),
    )
    const zombie = holding(db, { collection: 'journal', method: 'bulkWrite' })
    const late = mongo(zombie.db).commit([advanceOf(run, COMPLETED, { entries })], T)
    await zombie.held
    await store.commit([controlOf('delete', 'a'), createOf({ id: 'a' }), deliverOf('a', itemOf('i'))], T)
    await zombie.release()
    await late
    const { entries: found, inbox } = await journalOf(store, 'a')
    assert.deepEqual([found, inbox], [[], [itemOf('i')]])
    assert.equal(await db.collection('perdure_journal').countDocuments(), 0)
  })

  it('renews no lease that was taken away', async () => {
    const { db, store } = await freshStore(client)
    const zombie = holding(db, { collection: 'workers', method: 'updateOne' })
    await store.heartbeat({ id: 'w', leaseMs: 100, register: true }, T)
    const late = mongo(zombie.db).heartbeat({ id: 'w', leaseMs: 100, register: false }, T + 50)
    await zombie.held
    await store.reap(T + 101, 10)
    await zombie.release()
    assert.equal((await late).alive, false)
    assert.equal((await store.heartbeat({ id: 'w', leaseMs: 100, register: false }, T + 60)).alive, false)
  })
})

function request(worker: string): ClaimRequest {
  return { worker, workflows: [WORKFLOW], queues: null, limit: 5, now: T }
}
