import assert from 'node:assert/strict'
import { MongoClient } from 'mongodb'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { mongo } from '../../src/stores/mongo/index.ts'
import {
  advanceOf,
  apply,
  COMPLETED,
  claimOne,
  createOf,
  deliverOf,
  entryOf,
  itemOf,
  journalOf,
  newRun,
  runOf,
  started,
  T,
} from '../../src/testing/store-suite/fixture.ts'
import { startMongo } from '../services/mongo.ts'
import { serviceOrSkip } from '../services/service.ts'
import { startProxy } from '../services/tcp-proxy.ts'
import { freshDatabase, freshStore, signal, tapped } from './kit.ts'

const url = await serviceOrSkip('mongo')

describe.skipIf(url === null)('the MongoDB store, beyond what all stores do', () => {
  const client = new MongoClient(url ?? 'mongodb://127.0.0.1')
  afterAll(() => client.close())

  it('takes a URL, a client or a database, and all find the same runs', async () => {
    const { db, dispose } = freshDatabase(client)
    onTestFinished(dispose)
    const stores = [
      mongo(`${url}${db.databaseName}`),
      mongo(url ?? '', { database: db.databaseName }),
      mongo(client, { database: db.databaseName }),
      mongo(db),
    ]
    await stores[0]?.migrate()
    for (const [i, store] of stores.entries()) await apply(store, createOf({ id: `run-${i}` }))
    for (const store of stores) {
      assert.equal((await store.listRuns({ limit: 10 })).runs.length, 4)
      await store.close()
    }
    assert.equal(await db.collection('perdure_runs').countDocuments(), 4)
  })

  it('keeps stores of different prefixes apart', async () => {
    const { db, store } = await freshStore(client)
    const other = mongo(db, { prefix: 'other.' })
    await other.migrate()
    await apply(store, createOf({ id: 'a' }))
    assert.equal(await other.getRun('a'), null)
  })

  it('stores any text, also where it is something else to the server or to JavaScript', async () => {
    const { store } = await freshStore(client)
    const odd = [
      'nul\0',
      '\ud800',
      '\udc00\ud800',
      '\u007f',
      '\u007f0000',
      '$where',
      'a.b',
      '__proto__',
      '.',
      '$',
    ]
    for (const text of odd) {
      const fields = {
        id: text,
        workflow: text,
        version: text,
        queue: text,
        key: text,
        tags: [text],
        parentId: text,
      }
      await apply(store, createOf({ ...fields, input: text }))
      const workflows = [{ name: text, version: text }]
      const [run] = await store.claim({ worker: text, workflows, queues: [text], limit: 1, now: T })
      assert.ok(run)
      await apply(store, deliverOf(text, itemOf(text, { name: text, payload: text })))
      const attempts = [{ attempt: 1, startedAt: T, endedAt: T, error: text }]
      const entry = entryOf(text, { value: text, target: text, childId: text, attempts })
      const child = newRun({ id: `child of ${text}`, key: text, input: text, entries: [entry] })
      const children = [{ run: child, claimedBy: null }]
      await apply(store, advanceOf(run, null, { entries: [entry], children }))
      const { run: found, entries, inbox } = await journalOf(store, text)
      expect(found).toMatchObject({ ...fields, input: text, owner: text })
      assert.deepEqual([entries, inbox], [[entry], [itemOf(text, { name: text, payload: text })]])
      assert.deepEqual((await journalOf(store, child.id)).entries, [entry])
      for (const filter of [{ key: text, workflow: text }, { tag: text }, { parentId: text }]) {
        assert.equal((await store.listRuns({ limit: 10, ...filter })).runs[0]?.id, text)
      }
      const { held } = await store.heartbeat({ id: text, leaseMs: 50, register: true }, T)
      assert.deepEqual(
        held.map(({ id }) => id),
        [text],
      )
      await apply(store, advanceOf(run, { ...COMPLETED, output: text }, { number: 2, consumed: [text] }))
      assert.equal((await runOf(store, text)).output, text)
    }
  })

  it('lists the runs of a key of any workflow', async () => {
    const { store } = await freshStore(client)
    await apply(store, createOf({ id: 'a', key: 'k', workflow: 'one' }))
    await apply(store, createOf({ id: 'b', key: 'k', workflow: 'two' }))
    await apply(store, createOf({ id: 'c', key: 'kk', workflow: 'one' }))
    await apply(store, createOf({ id: 'd', key: 'k|', workflow: 'one' }))
    const { runs } = await store.listRuns({ limit: 10, key: 'k' })
    assert.deepEqual(runs.map(({ id }) => id).sort(), ['a', 'b'])
  })

  it('tells the holder of a key whole, also where the batch touches it otherwise', async () => {
    const { store } = await freshStore(client)
    const run = await started(store, { id: 'a', key: 'k', input: '"the input"' })
    await apply(store, advanceOf(run, { ...COMPLETED, output: '"the output"' }))
    const [, existing] = await store.commit(
      [deliverOf('a', itemOf('late')), createOf({ id: 'b', key: 'k' })],
      T,
    )
    assert.deepEqual(existing, { status: 'existing', run: await runOf(store, 'a') })
  })

  it('gives a key to the first that asks for it in a batch, also to a child', async () => {
    const { store } = await freshStore(client)
    const run = await started(store, { id: 'a' })
    const children = [{ run: newRun({ id: 'child', key: 'k' }), claimedBy: null }]
    const [, existing] = await store.commit(
      [advanceOf(run, null, { children }), createOf({ id: 'b', key: 'k' })],
      T,
    )
    assert.deepEqual(existing, { status: 'existing', run: await runOf(store, 'child') })
  })

  it('asks the server for the time', async () => {
    const { store } = await freshStore(client)
    const before = Date.now()
    const now = await store.clock?.()
    expect(now).toBeGreaterThan(before - 5_000)
    expect(now).toBeLessThan(before + 60_000)
  })

  it('needs two round trips for a batch, and four if it does something to other runs', async () => {
    const { db, store } = await freshStore(client)
    const runs = []
    for (let i = 0; i < 10; i++) runs.push(await started(store, { id: `run-${i}` }))
    const calls: string[] = []
    const counted = mongo(
      tapped(db, async ({ collection, method }, make) => {
        calls.push(`${collection}.${method}`)
        return await make()
      }),
    )
    await counted.getRun('a')
    const callsOf = async (call: () => Promise<unknown>): Promise<readonly string[]> => {
      calls.length = 0
      await call()
      return [...calls]
    }
    const steps = runs.map((run) => advanceOf(run, null, { entries: [entryOf('one')] }))
    const [read, write] = ['perdure_runs.find', 'perdure_runs.bulkWrite']
    assert.deepEqual(await callsOf(() => counted.commit(steps, T)), [read, write])
    assert.deepEqual(await callsOf(() => counted.commit([createOf({ id: 'new' })], T)), [write])
    assert.deepEqual(await callsOf(() => claimOne(counted)), [read, write])
    const children = [{ run: newRun({ id: 'child' }), claimedBy: null }]
    const withChild = steps.map((step, i) => ({ ...step, number: 2, children: i === 0 ? children : [] }))
    assert.deepEqual(await callsOf(() => counted.commit(withChild, T)), [read, write, write, write])
  })

  it('waits on closing for the call that is under way', async () => {
    const { db } = await freshStore(client)
    const [begun, released] = [signal(), signal()]
    const store = mongo(
      tapped(db, async ({ method }, make) => {
        if (method === 'bulkWrite') begun.give()
        if (method === 'bulkWrite') await released.given
        return await make()
      }),
    )
    const call = store.commit([createOf({ id: 'a' })], T)
    await begun.given
    const closing = store.close()
    await expect(store.getRun('a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    released.give()
    await closing
    expect((await call)[0]?.status).toBe('ok')
  })

  it('goes on after the server was restarted, with all that was committed', async () => {
    const server = await startMongo()
    onTestFinished(() => server.stop())
    const store = mongo(server.url, { timeout: 5_000 })
    onTestFinished(() => store.close())
    await store.migrate()
    const run = await started(store, { id: 'a' })
    await apply(store, advanceOf(run, null, { entries: [entryOf('one')] }))
    await server.restart()
    // Of the connections of before, the first call may get one that is broken.
    await store.getRun('a').catch(() => {})
    assert.deepEqual((await journalOf(store, 'a')).entries, [entryOf('one')])
  })

  it('gives up a call that gets no answer, and goes on when there are answers again', async () => {
    const { db, store } = await freshStore(client)
    await apply(store, createOf({ id: 'a' }))
    const { port } = new URL(url ?? '')
    const proxy = await startProxy(Number(port))
    onTestFinished(() => proxy.close())
    const far = mongo(`mongodb://127.0.0.1:${proxy.port}/${db.databaseName}?directConnection=true`, {
      timeout: 500,
    })
    onTestFinished(() => far.close())
    assert.ok(await far.getRun('a'))
    proxy.stall()
    const before = performance.now()
    await expect(far.getRun('a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(performance.now() - before).toBeLessThan(3_000)
    proxy.heal()
    await expect
      .poll(async () => (await far.getRun('a').catch(() => null))?.id, { timeout: 20_000 })
      .toBe('a')
  })
})
