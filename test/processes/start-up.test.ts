/** Processes that start: many at once, again and again, or after a time when nobody was there. */
import { expect, test } from 'vitest'
import type { Engine, RunStatus } from '../../src/index.ts'
import { type Child, newWorld, until, type World } from './kit.ts'

const workflows = ['tiny', 'parked', 'napping']
const well = { code: 0, signal: null }

test('W10 B026: ten processes that start at once on an empty file work 200 runs, each once', async () => {
  const world = await newWorld()
  const children = Array.from({ length: 10 }, () => world.start('start-up', { starts: 20 }))
  const ids: unknown[] = []
  for (const child of children) {
    const started = (await child.line('started'))['ids']
    ids.push(...(Array.isArray(started) ? started : []))
  }
  await allIn(world.client(...workflows), 'completed', 200)
  await endAll(children)
  const bodies = world.effectsAt('start').map(({ run }) => run)
  expect(bodies.toSorted()).toEqual(ids.toSorted())
  expect(new Set(bodies).size).toBe(200)
  expect(complaints(children)).toEqual([])
  expect(await world.flaws()).toEqual([])
})

test('W10 B026: three processes on one file execute 1,000 runs exactly once, without a lock error', async () => {
  const world = await newWorld()
  const client = world.client(...workflows)
  await Promise.all(Array.from({ length: 1_000 }, () => client.startWorkflow('tiny')))
  const children = await Promise.all([1, 2, 3].map(() => ready(world)))
  await allIn(client, 'completed', 1_000)
  await endAll(children)
  const starts = world.effectsAt('start')
  expect(starts).toHaveLength(1_000)
  expect(new Set(starts.map(({ run }) => run)).size).toBe(1_000)
  expect(complaints(children)).toEqual([])
  const shares = children.map(({ pid }) => starts.filter((start) => start.pid === pid).length)
  console.log(`start-up.test.ts: 1,000 runs, by process: ${shares.join(', ')}`)
  expect(await world.flaws()).toEqual([])
})

test('B013: ten restarts with 300 parked runs call no function and claim nothing', async () => {
  const world = await newWorld()
  const client = world.client(...workflows)
  await Promise.all(Array.from({ length: 300 }, () => client.startWorkflow('parked')))
  const first = await ready(world)
  await allIn(client, 'waiting', 300)
  await endAll([first])
  const before = await parkedIn(client)
  expect(before).toHaveLength(300)
  for (let restart = 0; restart < 10; restart++) {
    const child = await ready(world)
    // It has looked for work, and found this.
    await (await client.startWorkflow('tiny')).result()
    await endAll([child])
    expect(complaints([child])).toEqual([])
  }
  expect(await parkedIn(client)).toEqual(before)
  expect(world.effectsAt('called')).toHaveLength(300)

  // They are alive all the same.
  const [some] = before
  await client.sendEvent(String(some?.id), 'go', 'on')
  await ready(world)
  expect(await client.getHandle(String(some?.id)).result()).toBe('on')
  expect(world.effectsAt('called')).toHaveLength(301)
})

test('B043: a sleep that fell due while no worker was up ends when one starts', async () => {
  const world = await newWorld()
  const client = world.client(...workflows)
  const first = await ready(world, { napMs: 2_000 })
  const handle = await client.startWorkflow('napping')
  await allIn(client, 'waiting', 1)
  first.kill()
  await first.ended()
  const { dueAt } = await handle.get()
  await until('the sleep falls due', () => dueAt !== null && Date.now() > dueAt)
  expect(await handle.get()).toMatchObject({ status: 'waiting', fence: 1 })

  // The poll would come too late: it is the start that looks.
  const second = await ready(world, { napMs: 2_000, pollInterval: 600_000 })
  expect(await handle.result()).toBe('rested')
  expect(world.effectsAt('start', handle.id, 'before').map(({ pid }) => pid)).toEqual([first.pid])
  const after = world.effectsAt('start', handle.id, 'after')
  expect(after.map(({ pid }) => pid)).toEqual([second.pid])
  expect(after[0]?.time).toBeGreaterThanOrEqual(dueAt ?? Number.POSITIVE_INFINITY)
})

async function ready(world: World, settings: object = {}): Promise<Child> {
  const child = world.start('start-up', settings)
  await child.line('ready')
  return child
}

async function endAll(children: readonly Child[]): Promise<void> {
  for (const child of children) child.signal('SIGTERM')
  for (const child of children) expect(await child.ended()).toEqual(well)
}

/** Waits until so many runs are in this state. */
async function allIn(client: Engine, status: RunStatus, count: number): Promise<void> {
  await until(`${count} runs are ${status}`, async () => {
    const counts = (await client.stats()).filter((row) => row.status === status)
    return counts.reduce((sum, row) => sum + row.count, 0) === count
  })
}

/** The parked runs as they are. A claim would raise a fence. */
async function parkedIn(client: Engine) {
  return (await client.listRuns({ workflow: 'parked', limit: 1_000 })).runs
}

function complaints(children: readonly Child[]): readonly unknown[] {
  return children.flatMap((child) => {
    const said = child.lines.filter(({ at }) => ['warn', 'error', 'lost', 'unhandled'].includes(at))
    return child.errors === '' ? said : [...said, child.errors]
  })
}
