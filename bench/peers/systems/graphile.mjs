// graphile-worker: a job queue in PostgreSQL, without steps. It deletes jobs that are done.
import { NO_STEPS } from './pgboss.mjs'
import { counter } from './postgres-count.mjs'

export const graphile = {
  name: 'graphile-worker',
  title: 'graphile-worker',
  npm: 'graphile-worker',
  server: 'postgres',
  beside: 'perdure-postgres',
  settings: [
    {
      name: 'default',
      kind: 'recommended',
      note: '`concurrency` 50, pool of 20',
      wait: 'recorded',
      long: ['parked'],
    },
    {
      name: 'local queue',
      kind: 'fastest',
      note: 'the same, local queue of 200, completions in batches (`completeJobBatchDelay` 0)',
      wait: 'recorded',
      long: ['processes'],
    },
  ],
  lacks: { 'one-step': NO_STEPS, 'ten-step': NO_STEPS, 'step-5000': NO_STEPS },
  guarantees: {
    flushed: 'each commit',
    steps: 'no steps',
    once: 'a body at least once',
    needs: 'PostgreSQL',
  },
  open,
}

async function open({ setting, place, role, ended = () => {} }) {
  const { Logger, makeWorkerUtils, run } = await import('graphile-worker')
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString: place.url, max: 20 })
  pool.on('error', () => {})
  const logger = new Logger(() => () => {})
  const utils = await makeWorkerUtils({ pgPool: pool, logger })
  await utils.migrate()
  const left = await counter(place.url, 'SELECT count(*) AS count FROM graphile_worker._private_jobs')
  const local = { localQueue: { size: 200 }, completeJobBatchDelay: 0 }
  let runner = null
  const work = async () => {
    runner = await run({
      pgPool: pool,
      concurrency: 50,
      taskList: { job: async ({ i }) => ended(i) },
      noHandleSignals: true,
      logger,
      preset: { worker: { concurrentJobs: 50, ...(setting.name === 'local queue' && local) } },
    })
  }
  if (role === 'all') await work()
  let added = 0
  return {
    jobsOnly: true,
    start: async (kind, input) => {
      await utils.addJob('job', input, kind === 'sleep' ? { runAt: new Date(Date.now() + input.ms) } : {})
      added++
    },
    count: async () => added - (await left.count()),
    work,
    close: async () => {
      await runner?.stop()
      await utils.release()
      await left.close()
      await pool.end()
    },
  }
}
