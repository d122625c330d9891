import { describe, test } from 'vitest'
import { createQueueAdapter } from '../../src/queues/registry.ts'
import { queueAdapterSuite } from '../../src/testing/queue-suite/index.ts'
import { serviceOrSkip } from '../services/service.ts'

const url = await serviceOrSkip('redis')

describe.skipIf(url === null)('the redis queue adapter', () => {
  queueAdapterSuite({
    describe,
    test,
    async open() {
      const prefix = `queue-${crypto.randomUUID()}`
      const open = () => createQueueAdapter('redis', { url: url ?? '', prefix })
      return { queue: open(), reopen: async () => open(), dispose: async () => {} }
    },
  })
})
