// pg-boss: a job queue in PostgreSQL, without steps.
import { counter } from './postgres-count.mjs'

export const NO_STEPS = 'a queue of jobs: it records no steps'

export const pgboss = {
  name: 'pg-boss',
  title: 'pg-boss',
  npm: 'pg-boss',
  server: 'postgres',
  beside: 'perdure-postgres',
  settings: [
    {
      name: 'default',
      kind: 'recommended',
      note: '`work` with `localConcurrency` 50 and the default interval of 2 s',
      wait: 'recorded',
      long: [],
    },
    {
      name: 'notify, batches of 50',
      kind: 'fastest',
      note: '`useListenNotify`, `batchSize` 50, `burstWhenBatchFull`: a batch succeeds or fails as one',
      wait: 'recorded',
      long: ['parked', 'processes'],
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
  const { PgBoss } = await import('pg-boss')
  const fast = setting.name !== 'default'
  const boss = new PgBoss({ connectionString: place.url, ...(fast && { useListenNotify: true }) })
  boss.on('error', (error) => console.error(error.message))
  await boss.start()
  const done = await counter(place.url, "SELECT count(*) AS count FROM pgboss.job WHERE state = 'completed'")
  if (role !== 'worker') await boss.createQueue('bench', fast ? { notify: true } : {})
  const options = fast ? { batchSize: 50, burstWhenBatchFull: true } : { localConcurrency: 50 }
  const work = async () => {
    await boss.work('bench', options, async (jobs) => {
      for (const { data } of jobs) ended(data.i)
    })
  }
  if (role === 'all') await work()
  return {
    jobsOnly: true,
    start: (kind, input) =>
      boss.send('bench', input, kind === 'sleep' ? { startAfter: new Date(Date.now() + input.ms) } : {}),
    count: done.count,
    work,
    close: async () => {
      await boss.stop({ graceful: false })
      await done.close()
    },
  }
}
