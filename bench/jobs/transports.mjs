// The transports of fire-and-forget jobs that are measured, as a producer and a worker see them.
import { createEngine } from 'perdure'
import { mongo } from 'perdure/mongo'
import { postgres } from 'perdure/postgres'
import { createQueueAdapter } from 'perdure/queues'
import { WorkflowRunner } from 'perdure/runner'
import { sqlite } from 'perdure/sqlite'

const KIND = 'bench'
/** Jobs at once in each worker, for all transports. */
const CONCURRENCY = 50
/** How soon a dead worker's jobs go to others, ms. BullMQ calls it the duration of a lock. */
const LEASE_MS = 2000

/**
 * @typedef {{ type: 'store', store: 'sqlite' | 'postgres' | 'mongo', at: string, name: string }
 *   | { type: 'redis' | 'bullmq', at: string, name: string }} TransportSettings
 * @typedef {object} Transport
 * @property {(handle: (job: { n: number }) => unknown) => Promise<void>} work
 * @property {(n: number) => Promise<string | null>} enqueue resolves when the transport keeps the job
 * @property {(id: string) => Promise<string>} status
 * @property {() => Promise<void>} close
 */

/**
 * @param {TransportSettings} settings
 * @returns {Promise<Transport>}
 */
export async function openTransport(settings) {
  return settings.type === 'bullmq' ? await plainBullmq(settings) : perdure(settings)
}

const stores = {
  sqlite: ({ at }) => sqlite(at),
  postgres: ({ at, name }) => postgres(at, { schema: name }),
  mongo: ({ at, name }) => mongo(at, { prefix: `${name}_` }),
}

/** The runner, as an application has it. */
function perdure(settings) {
  const { type, at, name } = settings
  const store = type === 'store' ? stores[settings.store](settings) : sqlite(':memory:')
  const engine = createEngine({ store, lease: LEASE_MS })
  const queueAdapter =
    type === 'store'
      ? createQueueAdapter('store', { engine })
      : createQueueAdapter('redis', { url: at, prefix: name, lease: LEASE_MS })
  const runner = new WorkflowRunner({ engine, queueAdapter })
  return {
    async work(handle) {
      runner.register({ ...kind, prepare: handle })
      await engine.work()
    },
    enqueue: (n) => queueAdapter.enqueue(KIND, { n }, { jobId: kind.dedupeKey({ n }) }),
    status: (id) => queueAdapter.getJobStatus(id),
    close: () => runner.stop(),
  }
}

const kind = { kind: KIND, dedupeKey: ({ n }) => `job ${n}`, concurrency: CONCURRENCY }

/** BullMQ as its documentation has it, but for how soon a dead worker is noticed. */
async function plainBullmq({ at, name }) {
  const { Queue, Worker } = await import('bullmq')
  const { Redis } = await import('ioredis')
  const connection = new Redis(at, { maxRetriesPerRequest: null })
  connection.on('error', () => {})
  const queue = new Queue(KIND, { connection, prefix: name })
  let worker = null
  return {
    async work(handle) {
      worker = new Worker(KIND, async ({ data }) => handle(data), {
        connection: connection.duplicate(),
        prefix: name,
        concurrency: CONCURRENCY,
        lockDuration: LEASE_MS,
        stalledInterval: LEASE_MS / 2,
      })
      worker.on('error', () => {})
      await worker.waitUntilReady()
    },
    enqueue: async (n) => (await queue.add(KIND, { n }, { jobId: `job-${n}` })).id ?? null,
    status: (id) => queue.getJobState(id),
    async close() {
      await worker?.close()
      await queue.close()
      connection.disconnect()
    },
  }
}
