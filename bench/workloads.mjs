import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createEngine, defineWorkflow } from 'perdure'

const makeWorkflow = (steps) =>
  defineWorkflow({ name: `steps-${steps}` }, async ({ input, step }) => {
    for (let i = 0; i < steps; i++) await step.do(`step ${i}`, () => ({ i: input.i }))
    return { i: input.i }
  })

/** Remembers every batch that is committed, so that it can be replayed without the engine. */
function recording(store) {
  const batches = []
  const commit = (writes, now) => {
    batches.push(writes)
    return store.commit(writes, now)
  }
  return {
    batches,
    store: { ...store, commit },
  }
}

/** Rows that a write puts into the store: the run's own, its entries, its children. */
export const rowsOf = (write) => {
  if (write.type === 'create') return 1
  if (write.type !== 'advance') return 1
  return write.entries.length + write.children.length + write.deliveries.length + (write.to === null ? 0 : 1)
}

/** Runs of some steps, many at once: how many per second, and what they cost the store and this thread. */
export async function throughput(open, { runs, steps, inFlight }) {
  const { store, batches } = recording(open())
  const workflow = makeWorkflow(steps)
  const engine = createEngine({ store, workflows: [workflow] })
  await engine.work()
  await drive(engine, workflow, Math.min(500, runs), inFlight)
  batches.length = 0
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  await drive(engine, workflow, runs, inFlight)
  const seconds = (performance.now() - startedAt) / 1000
  const { user, system } = process.cpuUsage(cpu)
  delay.disable()
  await engine.close()
  const rows = batches.flat().reduce((sum, write) => sum + rowsOf(write), 0)
  return {
    batches: [...batches],
    runsPerSecond: runs / seconds,
    stepsPerSecond: (runs * steps) / seconds,
    rowsPerSecond: rows / seconds,
    commitsPerRun: batches.length / runs,
    rowsPerCommit: rows / batches.length,
    cpuMicrosPerRun: (user + system) / runs,
    blockedMs: { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 },
  }
}

async function drive(engine, workflow, runs, inFlight) {
  let next = 0
  const lane = async () => {
    while (next < runs) {
      const i = next++
      await (await engine.startWorkflow(workflow, { i })).result()
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
}

/** One run at a time: how long from the start to the result, and how many commits. */
export async function lone(open, steps) {
  const { store, batches } = recording(open())
  const workflow = makeWorkflow(steps)
  const engine = createEngine({ store, workflows: [workflow] })
  await engine.work()
  await drive(engine, workflow, 100, 1)
  batches.length = 0
  const times = []
  for (let i = 0; i < 300; i++) {
    const startedAt = performance.now()
    await (await engine.startWorkflow(workflow, { i })).result()
    times.push(performance.now() - startedAt)
  }
  await engine.close()
  times.sort((a, b) => a - b)
  return { p50: times[150], p99: times[297], commitsPerRun: batches.length / times.length }
}
