import assert from 'node:assert/strict'
import { MongoClient } from 'mongodb'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { mongo } from '../../src/stores/mongo/index.ts'
import { commitOne, createOf, T, WORKFLOW } from '../../src/testing/store-suite/fixture.ts'
import { serviceOrSkip } from '../services/service.ts'
import { freshDatabase } from './kit.ts'

const url = await serviceOrSkip('mongo')
const INDEXES = 15

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
