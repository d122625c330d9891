import { describe, test } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { storeSuite } from '../../src/testing/store-suite/index.ts'
import { freshSchema } from '../services/schema.ts'
import { serviceOrSkip } from '../services/service.ts'

const url = await serviceOrSkip('postgres')

describe.skipIf(url === null)('W12: the PostgreSQL store', () => {
  storeSuite({
    describe,
    test,
    async open() {
      const { schema, dispose } = freshSchema(url ?? '')
      const stores: Store[] = []
      const connect = (): Store => {
        const store = postgres(url ?? '', { schema })
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
