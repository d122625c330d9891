// Perdure, used as its README shows it.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const root = createRequire(new URL('../../../package.json', import.meta.url))
const product = (name) => import(pathToFileURL(root.resolve(name)).href)

const stores = {
  memory: async () => (await product('perdure/memory')).memory(),
  sqlite: async ({ file }) => (await product('perdure/sqlite')).sqlite(file),
  postgres: async ({ url }) => (await product('perdure/postgres')).postgres(url),
  mongo: async ({ url }) => (await product('perdure/mongo')).mongo(url),
}

const flushed = {
  memory: 'never: nothing survives the process',
  sqlite: 'each commit (`synchronous=FULL`); runs share one',
  postgres: 'each commit; runs share one',
  mongo: 'each write (majority, journal); runs share one',
}

export const perdure = Object.keys(stores).map((store) => ({
  name: `perdure-${store}`,
  title: `Perdure, ${{ memory: 'memory', sqlite: 'SQLite', postgres: 'PostgreSQL', mongo: 'MongoDB' }[store]}`,
  npm: null,
  server: store === 'postgres' || store === 'mongo' ? store : null,
  beside: null,
  settings: [
    {
      name: 'default',
      kind: 'recommended and fastest',
      note: 'as `createEngine` and `work()` come; there is no faster setting that is as durable',
      wait: 'result',
      long: ['parked', 'step-5000', 'processes'],
    },
  ],
  lacks: store === 'memory' ? { processes: 'lives in one process' } : {},
  guarantees: {
    flushed: flushed[store],
    steps: 'each, before a later one begins',
    once: 'a recorded step is not done again; a body at least once, or at most once by `atMostOnce`',
    needs: { memory: 'nothing', sqlite: 'nothing', postgres: 'PostgreSQL', mongo: 'MongoDB' }[store],
  },
  open: (options) => open(store, options),
}))

async function open(store, { place, role, ended = () => {}, onStep = () => {} }) {
  const { createEngine, defineWorkflow } = await product('perdure')
  const steps = defineWorkflow({ name: 'steps' }, async ({ input, step }) => {
    for (let n = 0; n < input.steps; n++) {
      await step.do(`step ${n}`, () => {
        onStep()
        return { i: input.i }
      })
    }
    ended(input.i)
    return { i: input.i }
  })
  const sleep = defineWorkflow({ name: 'sleep' }, async ({ input, step }) => {
    await step.sleep('nap', input.ms)
    return { i: input.i }
  })
  const counted = counting(await stores[store](place))
  const engine = createEngine({
    store: counted.store,
    workflows: [steps, sleep],
    functions: { job: ({ i }) => ended(i) },
  })
  if (role === 'all') await engine.work()
  const workflows = { steps, sleep, job: 'job' }
  const succeeded = async () => {
    const counts = await engine.stats()
    return counts.filter(({ status }) => status === 'succeeded').reduce((sum, { count }) => sum + count, 0)
  }
  return {
    start: (kind, input) => engine.startWorkflow(workflows[kind], input),
    result: (handle) => handle.result(),
    // Who starts and does not work asks the store, since all at once would have to poll for their results.
    ...(role === 'starter' && { count: succeeded }),
    commits: () => counted.commits(),
    work: () => engine.work(),
    close: () => engine.close(),
  }
}

/** The store, and how often the engine has made it commit. */
function counting(store) {
  let commits = 0
  const commit = (writes, now) => {
    commits++
    return store.commit(writes, now)
  }
  return { store: { ...store, commit }, commits: () => commits }
}
