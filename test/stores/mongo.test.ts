import { MongoClient } from 'mongodb'
import { afterAll, describe, test } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { mongo } from '../../src/stores/mongo/index.ts'
import { storeSuite } from '../../src/testing/store-suite/index.ts'
import { freshDatabase } from '../mongo/kit.ts'
import { serviceOrSkip } from '../services/service.ts'

const url = await serviceOrSkip('mongo')

describe.skipIf(url === null)('W12: the MongoDB store', () => {
  const client = new MongoClient(url ?? 'mongodb://127.0.0.1')
  afterAll(() => client.close())

  storeSuite({
    describe,
    test,
    async open() {
      const { db, dispose } = freshDatabase(client)
      const stores: Store[] = []
      const connect = (): Store => {
        const store = mongo(db)
        stores.push(store)
        return store
      }
      return {
        store: connect(),
        reopen: async () => connect(),
        async dispose() {
          await Promise.all(stores.map((store) => store.close()))
          await dispose()
        },
      }
    },
  })
})
