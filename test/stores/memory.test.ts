import { describe, test } from 'vitest'
import { MemoryData, memory } from '../../src/stores/memory/index.ts'
import { storeSuite } from '../../src/testing/store-suite/index.ts'

describe('W12: the memory store', () => {
  storeSuite({
    describe,
    test,
    async open() {
      const data = new MemoryData()
      const store = memory({ data })
      return { store, reopen: async () => memory({ data }), dispose: () => store.close() }
    },
  })
})
