import { describe, test } from 'vitest'
import { createEngine } from '../../src/engine/engine.ts'
import type { QueueAdapter } from '../../src/queues/adapter.ts'
import { createQueueAdapter } from '../../src/queues/registry.ts'
import { queueAdapterSuite } from '../../src/testing/queue-suite/index.ts'
import { silentLog } from '../../src/testing/virtual-time.ts'
import { forEachStore } from '../parity/stores.ts'

describe('the store queue adapter', () => {
  forEachStore((database) => {
    queueAdapterSuite({
      describe,
      test,
      async open() {
        const openStore = database()
        const engines: { close(): Promise<void> }[] = []
        const open = async (): Promise<QueueAdapter> => {
          const engine = createEngine({ store: openStore(), log: silentLog, pollInterval: 50 })
          engines.push(engine)
          await engine.work()
          return createQueueAdapter('store', { engine, log: silentLog })
        }
        const dispose = async (): Promise<void> => {
          await Promise.all(engines.map((engine) => engine.close()))
        }
        return { queue: await open(), reopen: open, dispose }
      },
    })
  })
})
