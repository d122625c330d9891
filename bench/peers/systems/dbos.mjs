// DBOS Transact: workflows as functions, journal in PostgreSQL.
import { counter } from './postgres-count.mjs'

export const dbos = {
  name: 'dbos',
  title: 'DBOS Transact',
  npm: '@dbos-inc/dbos-sdk',
  server: 'postgres',
  beside: 'perdure-postgres',
  settings: [
    {
      name: 'direct',
      kind: 'recommended',
      note: '`DBOS.startWorkflow` in the process that executes it, defaults; no limit of how many at once',
      wait: 'result',
      long: ['parked', 'step-5000'],
    },
    {
      name: 'queue',
      kind: 'fastest',
      note: 'a queue, `workerConcurrency` 50, `minPollingIntervalMs` 20, pool of 50',
      wait: 'recorded',
      // Runs that were started directly belong to the process that started them.
      long: ['processes'],
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
  // Processes of one name take each other's runs for those that they left behind.
  process.env['DBOS__VMID'] = `${role}-${process.pid}`
  const { DBOS, DBOSClient } = await import('@dbos-inc/dbos-sdk')
  const queued = setting.name === 'queue'
  const done = await counter(
    place.url,
    "SELECT count(*) AS count FROM dbos.workflow_status WHERE status = 'SUCCESS'",
  )
  const pool = queued ? { systemDatabasePoolSize: role === 'all' ? 50 : 20 } : {}
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: place.url, logLevel: 'error', ...pool })
  if (role === 'starter') {
    // Makes the tables.
    await DBOS.launch()
    await DBOS.shutdown()
    return await starter(DBOSClient, { place, done })
  }
  const workflows = register(DBOS, { ended, onStep })
  const launch = async () => {
    await DBOS.launch()
    if (queued) await DBOS.registerQueue('bench', { workerConcurrency: 50, minPollingIntervalMs: 20 })
  }
  if (role === 'all') await launch()
  const polling = queued ? { pollingIntervalMs: 20 } : undefined
  return {
    start: (kind, input) => DBOS.startWorkflow(workflows[kind], queued ? { queueName: 'bench' } : {})(input),
    result: (handle) => handle.getResult(polling),
    ...(queued && { count: done.count }),
    work: launch,
    close: async () => {
      await DBOS.shutdown()
      await done.close()
    },
  }
}

function register(DBOS, { ended, onStep }) {
  const body = async (i) => {
    onStep()
    return { i }
  }
  const steps = async (input) => {
    for (let n = 0; n < input.steps; n++) await DBOS.runStep(() => body(input.i), { name: `step ${n}` })
    ended(input.i)
    return { i: input.i }
  }
  const sleep = async (input) => {
    await DBOS.sleep(input.ms)
    return { i: input.i }
  }
  const job = async ({ i }) => ended(i)
  return {
    steps: DBOS.registerWorkflow(steps, { name: 'steps' }),
    sleep: DBOS.registerWorkflow(sleep, { name: 'sleep' }),
    job: DBOS.registerWorkflow(job, { name: 'job' }),
  }
}

/** Enqueues without executing. */
async function starter(DBOSClient, { place, done }) {
  const client = await DBOSClient.create({ systemDatabaseUrl: place.url, systemDatabasePoolSize: 20 })
  return {
    start: (kind, input) => client.enqueue({ queueName: 'bench', workflowName: kind }, input),
    count: done.count,
    close: async () => {
      await client.destroy()
      await done.close()
    },
  }
}
