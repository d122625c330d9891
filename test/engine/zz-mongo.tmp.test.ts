import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { mongo } from '../../src/stores/mongo/index.ts'
import { freshDatabase } from '../mongo/kit.ts'
import { serviceOrSkip } from '../services/service.ts'
import { scenarioTests } from './scenarios/tests.ts'

const url = await serviceOrSkip('mongo')
describe.skipIf(url === null)('on MongoDB', () => {
  const client = new MongoClient(url ?? '')
  const { db, dispose } = freshDatabase(client)
  const names = ['runs', 'journal', 'inbox', 'workers', 'removals']
  beforeAll(async () => { await mongo(db).migrate() })
  afterAll(async () => { await dispose(); await client.close() })
  async function emptied(): Promise<Store> {
    await Promise.all(names.map((name) => db.collection(`perdure_${name}`).deleteMany({})))
    return mongo(db)
  }
  scenarioTests({ makeStore: emptied, exact: false })
})
