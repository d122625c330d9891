// openworkflow: a worker that polls, on SQLite (needs `node:sqlite`) or PostgreSQL.
import { counter } from './postgres-count.mjs'

const DONE = "status IN ('completed', 'succeeded')"

const base = {
  title: 'openworkflow',
  npm: 'openworkflow',
  lacks: {},
}

export const openworkflow = [
  {
    ...base,
    name: 'openworkflow-sqlite',
    title: 'openworkflow, SQLite',
    server: null,
    beside: 'perdure-sqlite',
    settings: [
      {
        name: 'default',
        kind: 'recommended and fastest',
        note: '`newWorker({ concurrency: 50 })`; its intervals of polling cannot be set',
        wait: 'recorded',
        long: ['parked', 'step-5000', 'processes'],
      },
    ],
    guarantees: {
      flushed: 'each commit (`synchronous=FULL` is the default of SQLite)',
      steps: 'each, before and after',
      once: 'a recorded step is not done again; a body at least once',
      needs: 'nothing',
    },
    open: (options) => open(sqliteBackend, options),
  },
  {
    ...base,
    name: 'openworkflow-postgres',
    title: 'openworkflow, PostgreSQL',
    server: 'postgres',
    beside: 'perdure-postgres',
    settings: [
      {
        name: 'default',
        kind: 'recommended',
        note: '`newWorker({ concurrency: 50 })`, pool of 10',
        wait: 'recorded',
        long: ['parked', 'step-5000', 'processes'],
      },
      {
        name: 'pool of 25',
        kind: 'fastest',
        note: 'the same by `fromPool` with 25 connections',
        wait: 'recorded',
        long: [],
      },
    ],
    guarantees: {
      flushed: 'each commit',
      steps: 'each, before and after',
      once: 'a recorded step is not done again; a body at least once',
      needs: 'PostgreSQL',
    },
    open: (options) => open(postgresBackend, options),
  },
]

async function sqliteBackend({ file }) {
  const { BackendSqlite } = await import('openworkflow/sqlite')
  const backend = BackendSqlite.connect(file)
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(file)
  const statement = database.prepare(`SELECT count(*) AS count FROM workflow_runs WHERE ${DONE}`)
  return { backend, done: { count: async () => statement.get().count, close: () => database.close() } }
}

async function postgresBackend({ url }, setting) {
  const { BackendPostgres } = await import('openworkflow/postgres')
  let backend = await BackendPostgres.connect(url)
  if (setting.name === 'pool of 25') {
    await backend.stop()
    const { default: postgres } = await import('postgres')
    backend = BackendPostgres.fromPool(
      postgres(url, { max: 25, transform: { column: { from: postgres.toCamel } } }),
    )
  }
  return {
    backend,
    done: await counter(url, `SELECT count(*) AS count FROM openworkflow.workflow_runs WHERE ${DONE}`),
  }
}

async function open(connect, { setting, place, role, ended = () => {}, onStep = () => {} }) {
  const { OpenWorkflow } = await import('openworkflow')
  const { backend, done } = await connect(place, setting)
  const client = new OpenWorkflow({ backend })
  const workflows = define(client, { ended, onStep })
  const worker = role === 'starter' ? null : client.newWorker({ concurrency: 50 })
  if (role === 'all') await worker?.start()
  return {
    start: (kind, input) => workflows[kind].run(input),
    result: (handle) => handle.result(),
    count: done.count,
    work: async () => worker?.start(),
    close: async () => {
      await worker?.stop()
      await done.close()
      await backend.stop()
    },
  }
}

function define(client, { ended, onStep }) {
  const steps = async ({ input, step }) => {
    for (let n = 0; n < input.steps; n++) {
      await step.run({ name: `step ${n}` }, async () => {
        onStep()
        return { i: input.i }
      })
    }
    ended(input.i)
    return { i: input.i }
  }
  const sleep = async ({ input, step }) => {
    await step.sleep('nap', `${input.ms}ms`)
    return { i: input.i }
  }
  return {
    steps: client.defineWorkflow({ name: 'steps' }, steps),
    sleep: client.defineWorkflow({ name: 'sleep' }, sleep),
    job: client.defineWorkflow({ name: 'job' }, async ({ input }) => ended(input.i)),
  }
}
