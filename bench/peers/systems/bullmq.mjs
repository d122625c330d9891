// BullMQ: a queue in Redis. Steps as its documentation does them: by keeping the step in the data of the job.
import { setTimeout as delay } from 'node:timers/promises'

const guarantees = {
  flushed: '`everysec`: no, a second can be lost; `always`: each turn of its loop',
  steps: 'the number of the last one, by `updateData`; no results',
  once: 'a body at least once',
  needs: 'Redis',
}

export const bullmq = {
  name: 'bullmq',
  title: 'BullMQ',
  npm: 'bullmq',
  server: 'redis',
  beside: 'perdure-postgres',
  settings: [
    {
      name: 'everysec',
      kind: 'recommended',
      note: '`appendfsync everysec`, worker `concurrency` 50: **not flushed per job**',
      wait: 'result',
      long: ['parked', 'step-5000', 'processes'],
    },
    {
      name: 'always',
      kind: 'fastest',
      note: '`appendfsync always`, worker `concurrency` 50: its durable setting',
      wait: 'result',
      server: 'redis-always',
      long: ['processes'],
    },
  ],
  lacks: {},
  guarantees,
  open,
}

async function open({ place, role, ended = () => {}, onStep = () => {} }) {
  const { Queue, QueueEvents, Worker } = await import('bullmq')
  const connection = { host: '127.0.0.1', port: Number(place.port), maxRetriesPerRequest: null }
  const queue = role === 'worker' ? null : new Queue('bench', { connection })
  const events = role === 'all' ? new QueueEvents('bench', { connection }) : null
  await events?.waitUntilReady()
  let worker = null
  const work = async () => {
    worker = new Worker('bench', (job) => body(job, { ended, onStep }), { connection, concurrency: 50 })
    worker.on('error', () => {})
    await worker.waitUntilReady()
  }
  if (role === 'all') await work()
  return {
    start: (kind, input) => queue.add(kind, input, kind === 'sleep' ? { delay: input.ms } : {}),
    result: (job) => job.waitUntilFinished(events),
    count: () => queue.getCompletedCount(),
    work,
    close: async () => {
      await Promise.race([worker?.close(), delay(1000)])
      await events?.close()
      await queue?.close()
    },
  }
}

async function body(job, { ended, onStep }) {
  if (job.name === 'steps') {
    let { done = 0 } = job.data
    while (done < job.data.steps) {
      onStep()
      done++
      await job.updateData({ ...job.data, done })
    }
  }
  ended(job.data.i)
  return { i: job.data.i }
}
