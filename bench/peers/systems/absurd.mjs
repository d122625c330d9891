// Absurd: functions inside PostgreSQL, a worker that polls.
import { readFileSync } from 'node:fs'
import { counter } from './postgres-count.mjs'

export const absurd = {
  name: 'absurd',
  title: 'Absurd',
  npm: 'absurd-sdk',
  server: 'postgres',
  beside: 'perdure-postgres',
  settings: [
    {
      name: 'default',
      kind: 'recommended',
      note: '`startWorker({ concurrency: 50 })`, polls every 250 ms when idle, pool of 10',
      wait: 'recorded',
      long: ['parked', 'step-5000', 'processes'],
    },
    {
      name: 'poll 20 ms',
      kind: 'fastest',
      note: 'the same, polls every 20 ms, pool of 25',
      wait: 'recorded',
      long: [],
    },
  ],
  lacks: {},
  guarantees: {
    flushed: 'each commit',
    steps: 'each',
    once: 'a recorded step is not done again; a body at least once',
    needs: 'PostgreSQL',
  },
  open,
}

async function open({ setting, place, role, ended = () => {}, onStep = () => {} }) {
  const { Absurd } = await import('absurd-sdk')
  const { default: pg } = await import('pg')
  const done = await counter(
    place.url,
    "SELECT count(*) AS count FROM absurd.t_default WHERE state = 'completed'",
  )
  if (role !== 'worker') {
    await done.client.query(readFileSync(place.absurdSchema, 'utf8'))
    await done.client.query("SELECT absurd.create_queue('default')")
  }
  const fast = setting.name === 'poll 20 ms'
  const pool = fast ? new pg.Pool({ connectionString: place.url, max: 25 }) : null
  const app = new Absurd({ db: pool ?? place.url })
  register(app, { ended, onStep })
  let worker = null
  const work = async () => {
    worker = await app.startWorker({ concurrency: 50, ...(fast && { pollInterval: 0.02 }) })
  }
  if (role === 'all') await work()
  return {
    start: (kind, input) => app.spawn(kind, input),
    result: (handle) => app.awaitTaskResult(handle.taskID, { timeout: 60 }),
    count: done.count,
    work,
    close: async () => {
      await worker?.close()
      await app.close()
      await pool?.end()
      await done.close()
    },
  }
}

function register(app, { ended, onStep }) {
  app.registerTask({ name: 'steps' }, async (input, task) => {
    for (let n = 0; n < input.steps; n++) {
      await task.step(`step ${n}`, async () => {
        onStep()
        return { i: input.i }
      })
    }
    ended(input.i)
    return { i: input.i }
  })
  app.registerTask({ name: 'sleep' }, async (input, task) => {
    await task.sleepFor('nap', input.ms / 1000)
    return { i: input.i }
  })
  app.registerTask({ name: 'job' }, async (input) => {
    ended(input.i)
    return null
  })
}
