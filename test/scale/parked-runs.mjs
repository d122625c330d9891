// Parks many runs in an SQLite file, works beside them, and prints what the process holds on to.
// Arguments: the file, how many runs. Runs on the built files, with --expose-gc.
import { createEngine, defineWorkflow } from '../../dist/index.js'
import { sqlite } from '../../dist/stores/sqlite/index.js'

const [path, count] = [process.argv[2], Number(process.argv[3])]
const BATCH = 1000

const parked = defineWorkflow({ name: 'parked' }, async ({ step }) => {
  await step.sleep('a nap', 10)
  return await step.waitForEvent('go')
})
const quick = defineWorkflow({ name: 'quick' }, ({ step }) => step.do('one', () => 1))

const store = sqlite(path, { synchronous: 'normal' })
await store.migrate()
for (let made = 0; made < count; made += BATCH) {
  const ids = Array.from({ length: Math.min(BATCH, count - made) }, (_, i) => `run-${made + i}`)
  const results = await store.commit(ids.flatMap(writes), Date.now())
  if (results.some(({ status }) => status !== 'ok')) throw new Error('a run could not be parked')
}

const engine = createEngine({ store, workflows: [parked, quick], hotRuns: 100, pollInterval: 20 })
await engine.work()
// Some that this process parks itself, more than may stay hot, and some that pass through.
const handles = await Promise.all(Array.from({ length: 500 }, () => engine.startWorkflow(parked, null)))
for (const wave of [1, 2, 3]) {
  await Promise.all(
    Array.from({ length: 100 }, async () => (await engine.startWorkflow(quick, wave)).result()),
  )
}
while (
  !(await Promise.all(handles.map((handle) => handle.status()))).every((status) => status === 'waiting')
) {
  await engine.getRun('run-0')
}
await engine.sendEvent('run-0', 'go', 'woken')
const woken = await engine.getHandle('run-0').result()
for (let round = 0; round < 3; round += 1) {
  await engine.getRun('run-0')
  globalThis.gc()
}
const { heapUsed } = process.memoryUsage()
const waiting = (await engine.stats()).find(({ status }) => status === 'waiting')
await engine.close()
process.stdout.write(JSON.stringify({ heapUsed, waiting: waiting.count, woken: woken === 'woken' ? 1 : 0 }))

/** A run that a worker claimed and parked until something is delivered. */
function writes(id) {
  const policy = { retry: null, timeout: null, retention: 1000, call: null }
  const names = {
    workflow: 'parked',
    version: '',
    queue: 'default',
    key: null,
    parentId: null,
    parentStep: null,
  }
  const run = { ...names, id, priority: 0, tags: [], input: '[null]', policy, dueAt: Date.now(), entries: [] }
  const nothing = { children: [], deliveries: [], deliveriesIfCancelled: [], cancels: [], consumed: [] }
  const to = { status: 'waiting', dueAt: null, seen: 0 }
  return [
    { type: 'create', run, claimedBy: 'worker' },
    {
      type: 'advance',
      runId: id,
      worker: 'worker',
      fence: 1,
      entries: [],
      progress: false,
      to,
      ...nothing,
    },
  ]
}
