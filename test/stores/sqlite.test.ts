import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { storeSuite } from '../../src/testing/store-suite/index.ts'

describe('W12: the SQLite store', () => {
  storeSuite({
    describe,
    test,
    async open() {
      const folder = await mkdtemp(join(tmpdir(), 'perdure-sqlite-'))
      const stores: Store[] = []
      const openFile = (): Store => {
        const store = sqlite(join(folder, 'work.db'))
        stores.push(store)
        return store
      }
      return {
        store: openFile(),
        reopen: async () => openFile(),
        async dispose() {
          await Promise.all(stores.map((store) => store.close()))
          await rm(folder, { recursive: true })
        },
      }
    },
  })
})
