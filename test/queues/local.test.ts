import { describe, test } from 'vitest'
import { createQueueAdapter } from '../../src/queues/registry.ts'
import { queueAdapterSuite } from '../../src/testing/queue-suite/index.ts'

describe('the local queue adapter', () => {
  queueAdapterSuite({
    describe,
    test,
    oneProcess: true,
    async open() {
      return { queue: createQueueAdapter('local'), dispose: async () => {} }
    },
  })
})
