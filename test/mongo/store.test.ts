import assert from 'node:assert/strict'
import { MongoClient } from 'mongodb'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { mongo } from '../../src/stores/mongo/index.ts'
import {
  advanceOf,
  apply,
  COMPLETED,
  claimOne,
  commitOne,
  createOf,
  deliverOf,
  entryOf,
  itemOf,
  journalOf,
  newRun,
  runOf,
  started,
  T,
  WORKFLOW,
} from '../../src/testing/store-suite/fixture.ts'
import { startMongo } from '../services/mongo.ts'
import { serviceOrSkip } from '../services/service.ts'
import { startProxy } from '../services/tcp-proxy.ts'
import { freshDatabase, freshStore, signal, tapped } from './kit.ts'

const url = await serviceOrSkip('mongo')
const NOWHERE = 'mongodb://someone:secret@127.0.0.1:1/shop'
const INDEXES = 15

describe('the arguments of the MongoDB store', () => {
  it.each([
    ['nothing', undefined, {}],
    ['an empty URL', '', {}],
    ['a URL of something else', 'postgres://localhost/shop', {}],
    ['an object that is no client', {}, {}],
    ['a database without a name', 'mongodb://localhost', { database: '' }],
    ['a database with a wrong name', 'mongodb://localhost', { database: 'a.b' }],
    ['an empty prefix', 'mongodb://localhost', { prefix: '' }],
    ['a prefix that is reserved', 'mongodb://localhost', { prefix: 'system.' }],
    ['a prefix with a "$"', 'mongodb://localhost', { prefix: 'a$' }],
    ['a timeout of 0', 'mongodb://localhost', { timeout: 0 }],
    ['a timeout that is no number', 'mongodb://localhost', { timeout: '1s' }],
  ])('are refused: %s', (_, source, options) => {
    // What a caller without types may do.
    const call = mongo as (source: unknown, options: unknown) => unknown
    expect(() => call(source, options)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })

  it('may not name a database besides a database', () => {
    const client = new MongoClient('mongodb://localhost')
    expect(() => mongo(client.db('a'), { database: 'b' })).toThrow('makes no sense together')
  })

  it('give the store a name without the password', () => {
    expect(mongo(NOWHERE).name).toBe('mongo (127.0.0.1:1/shop)')
    expect(mongo('mongodb://u:p%40ss@a:1,b:2/?replicaSet=r').name).toBe('mongo (a:1,b:2/perdure)')
    expect(mongo('mongodb+srv://u:p@cluster.example').name).toBe('mongo (cluster.example/perdure)')
    expect(mongo('mongodb://a/shop', { database: 'other' }).name).toBe('mongo (a/other)')
  })

  it('may name a server that is not there: calls reject, and tell no password', async () => {
    const store = mongo(NOWHERE, { timeout: 200 })
    onTestFinished(() => store.close())
    const error: unknown = await store.getRun('a').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(String(error)).not.toContain('secret')
  })
})

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

describe.skipIf(url === null)('the schema of the MongoDB store', () => {
  const client = new MongoClient(url ?? 'mongodb://127.0.0.1')
  afterAll(() => client.close())
  const steps = [{ number: 1, name: 'runs, journals, inboxes and leases' }]

  it('is made by one of ten processes that start at once', async () => {
    const { db, dispose } = freshDatabase(client)
    onTestFinished(dispose)
    const results = await Promise.all(Array.from({ length: 10 }, () => mongo(db).migrate()))
    assert.deepEqual(results.flat(), steps)
    assert.deepEqual(await mongo(db).migrate(), [])
    const indexes = await Promise.all(
      ['runs', 'journal', 'inbox', 'workers'].map((name) => db.collection(`perdure_${name}`).indexes()),
    )
    assert.equal(indexes.flat().filter(({ name }) => name !== '_id_').length, INDEXES)
    const unique = indexes.flat().filter(({ unique: isUnique }) => isUnique)
    assert.deepEqual(
      unique.map(({ name }) => name),
      ['dedupe'],
    )
  })

  it('is told and not made by a dry run', async () => {
    const { db, dispose } = freshDatabase(client)
    onTestFinished(dispose)
    assert.deepEqual(await mongo(db).migrate({ dryRun: true }), steps)
    assert.deepEqual(await db.listCollections().toArray(), [])
  })

  it('must be there: nothing is written without its indexes', async () => {
    const { db, dispose } = freshDatabase(client)
    onTestFinished(dispose)
    const store = mongo(db)
    const request = { worker: 'w', workflows: [WORKFLOW], queues: null, limit: 1, now: T }
    for (const call of [() => store.commit([createOf({ id: 'a' })], T), () => store.claim(request)]) {
      await expect(call()).rejects.toThrow(/Call migrate\(\) first/)
    }
    assert.deepEqual(await db.listCollections().toArray(), [])
    await store.migrate()
    assert.equal((await commitOne(store, createOf({ id: 'a' }))).status, 'ok')
  })

  it.each([
    ['newer', 'STORE_NEWER_SCHEMA', { _id: 2, name: 'of a later version', checksum: 'x' }],
    ['another', 'STORE_CORRUPT', { _id: 1, name: 'another', checksum: 'x' }],
  ])('is left alone if it is %s', async (_, code, row) => {
    const { db, dispose } = freshDatabase(client)
    onTestFinished(dispose)
    await db.collection<{ _id: number }>('perdure_migrations').insertOne(row)
    await expect(mongo(db).migrate()).rejects.toMatchObject({ code })
    await expect(mongo(db).getRun('a')).rejects.toMatchObject({ code })
    assert.deepEqual(
      (await db.listCollections().toArray()).map(({ name }) => name),
      ['perdure_migrations'],
    )
  })
})
