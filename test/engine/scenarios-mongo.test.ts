import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { mongo } from '../../src/stores/mongo/index.ts'
import { serviceOrSkip } from '../services/service.ts'
import { scenarioTests } from './scenarios/tests.ts'

const url = await serviceOrSkip('mongo')

// Many stores are made here: they share connections and collections, which are emptied in between.
describe.skipIf(url === null)('on MongoDB', () => {
  const client = new MongoClient(url ?? 'mongodb://127.0.0.1')
  const db = client.db(`scenarios_${process.pid}`)

  beforeAll(async () => {
    await mongo(db).migrate()
  })

  afterAll(async () => {
    await db.dropDatabase()
    await client.close()
  })

  async function emptied(): Promise<Store> {
    for (const { name } of await db.listCollections().toArray()) {
      if (!name.endsWith('migrations')) await db.collection(name).deleteMany({})
    }
    return mongo(db)
  }

  // The crashes take many minutes on a server in Java: see `npm run test:long`.
  scenarioTests({ makeStore: emptied, exact: false, crashes: process.env['PERDURE_LONG'] !== undefined })
})
