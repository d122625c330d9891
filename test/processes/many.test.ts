/** Four processes share many runs of one database: none twice, none forgotten, and nobody idles. */
import { expect, test } from 'vitest'
import type { Engine } from '../../src/index.ts'
import { newWorld, sharedDatabases, until, type World } from './kit.ts'

const isLong = process.env['PERDURE_LONG'] !== undefined
const RUNS = isLong ? 20_000 : 1_000
const SLEEPERS = isLong ? 50_000 : 1_000
const WORKERS = 4

/** MongoDB is left out: the server in Java, on which the tests may have to run, searches all runs at each write. */
const databases = (await sharedDatabases()).filter(([name]) => name === 'PostgreSQL')

test.each(databases)(
  'X4 B018: four processes share the runs fairly and execute each once, on %s',
  async (name, url) => {
    const world = await newWorld(url)
    const client = world.client('counted', 'sleeper')
    await startMany(client, 'counted', RUNS, null)
    const startedAt = performance.now()
    await withWorkers(world, () => allEnded(client, 'counted', RUNS))
    const seconds = (performance.now() - startedAt) / 1000
    const shares = await sharesOf(client, 'counted')
    console.log(
      `many.test.ts on ${name}: ${RUNS} runs in ${seconds.toFixed(1)} s, shares ${shares.join(', ')}`,
    )
    expect(shares.reduce((sum, share) => sum + share, 0)).toBe(RUNS)
    if (!isLong) return
    // A few runs may be over before the last process works.
    expect(shares).toHaveLength(WORKERS)
    expect(Math.min(...shares)).toBeGreaterThan(RUNS / WORKERS / 5)
  },
  600_000,
)

test.each(databases)(
  'X48: sleepers that are due in the same second all wake, each once, on %s',
  async (name, url) => {
    const world = await newWorld(url)
    const client = world.client('counted', 'sleeper')
    await withWorkers(world, async () => {
      const dueAt = Date.now() + (isLong ? 50_000 : 5_000)
      await startMany(client, 'sleeper', SLEEPERS, dueAt)
      await allEnded(client, 'sleeper', SLEEPERS)
      console.log(
        `many.test.ts on ${name}: ${SLEEPERS} sleepers over ${Date.now() - dueAt} ms after they were due`,
      )
    })
    const shares = await sharesOf(client, 'sleeper')
    expect(shares.reduce((sum, share) => sum + share, 0)).toBe(SLEEPERS)
    // Each once: no run was taken from a worker, so no body was begun twice.
    const { runs } = await client.listRuns({ workflow: 'sleeper', limit: 1_000 })
    expect(runs.filter(({ attempt }) => attempt !== 1)).toEqual([])
  },
  600_000,
)

async function startMany(client: Engine, workflow: string, count: number, input: unknown): Promise<void> {
  for (let from = 0; from < count; from += 500) {
    const size = Math.min(500, count - from)
    await Promise.all(Array.from({ length: size }, () => client.startWorkflow(workflow, input)))
  }
}

async function withWorkers(world: World, body: () => Promise<void>): Promise<void> {
  const workers = Array.from({ length: WORKERS }, () => world.start('counted'))
  for (const worker of workers) await worker.line('ready')
  await body()
  for (const worker of workers) worker.signal('SIGTERM')
  for (const worker of workers) expect(await worker.ended()).toEqual({ code: 0, signal: null })
}

/** Waits as long as some more end. */
async function allEnded(client: Engine, workflow: string, count: number): Promise<void> {
  for (let ended = 0; ended < count; ) {
    ended = await until('more runs end', async () => {
      const row = (await client.stats()).find(
        (each) => each.workflow === workflow && each.status === 'completed',
      )
      return row !== undefined && row.count > ended ? row.count : null
    })
  }
}

/** How many runs each process has executed. */
async function sharesOf(client: Engine, workflow: string): Promise<readonly number[]> {
  const shares = new Map<string, number>()
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await client.listRuns({ workflow, limit: 1_000, ...(cursor !== undefined && { cursor }) })
    for (const { output } of page.runs) shares.set(output ?? '', (shares.get(output ?? '') ?? 0) + 1)
    cursor = page.cursor
  }
  return [...shares.values()]
}
