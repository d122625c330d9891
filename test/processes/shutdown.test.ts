/** Ending processes in order: what is running is finished, what cannot be finished is handed over at once. */
import { describe, expect, test } from 'vitest'
import { type Child, newWorld, type World } from './kit.ts'

const LEASE_MS = 1_000
/** Longer than all patience: whoever takes over before has not waited for it. */
const LONG_LEASE_MS = 10 * 60_000
const workflows = ['draining', 'stubborn', 'enqueuing', 'tiny', 'listening']
const well = { code: 0, signal: null }

test('B155: a step in progress at SIGTERM is finished and recorded, for 3 leases, by one execution', async () => {
  const world = await newWorld()
  const client = world.client(...workflows)
  const first = await worker(world, { name: 'first', lease: LEASE_MS, signals: 1, bodyMs: 3 * LEASE_MS })
  const handle = await client.startWorkflow('draining')
  await first.line('in body')
  const second = await worker(world, { name: 'second', lease: LEASE_MS })
  first.signal('SIGTERM')
  expect(await first.ended()).toEqual(well)
  // The drain ends after the step; the rest of the run is for others.
  expect(await handle.result()).toEqual(['first', 'second'])
  expect(world.effectsAt('start', handle.id, 'long').map(({ pid }) => pid)).toEqual([first.pid])
  expect(world.effectsAt('start', handle.id, 'next').map(({ pid }) => pid)).toEqual([second.pid])
  expect(await handle.get()).toMatchObject({ attempt: 1, deaths: 0, fence: 2 })
  expect([...first.all('lost'), ...first.all('unhandled'), first.errors]).toEqual([''])
})

test('B158 B159: after the grace a body is aborted, then released, and another worker goes on at once', async () => {
  const world = await newWorld()
  const client = world.client(...workflows)
  const first = await worker(world, { name: 'first', lease: LONG_LEASE_MS, stays: true, grace: 300 })
  const handle = await client.startWorkflow('stubborn')
  await first.line('in body')
  await worker(world, { name: 'second', lease: LONG_LEASE_MS })
  first.signal('SIGTERM')
  expect(await first.ended()).toEqual(well)
  expect(await handle.result()).toBe('second')
  const effects = world.effects().filter(({ run }) => run === handle.id)
  const release = effects.findIndex(({ at, pid }) => at === 'start' && pid !== first.pid)
  expect(effects.slice(0, release).map(({ at }) => at)).toContain('tick')
  expect(effects[release - 1]).toMatchObject({ at: 'aborted', code: 'CLAIM_LOST', pid: first.pid })
  expect(effects.slice(release).filter(({ pid }) => pid === first.pid)).toEqual([])
  expect(await handle.get()).toMatchObject({ attempt: 1, deaths: 0, fence: 2 })
})

for (const signals of [
  ['SIGTERM', 'SIGTERM'],
  ['SIGINT', 'SIGTERM'],
] as const) {
  test(`B160: ${signals.join(' and ')} drain once, and nothing is claimed after the first`, async () => {
    const world = await newWorld()
    const client = world.client(...workflows)
    const only = await worker(world, { name: 'only', signals: 2, bodyMs: 0 })
    const handle = await client.startWorkflow('draining')
    await only.line('in body')
    only.signal(signals[0])
    await only.line('signal')
    const later = await client.startWorkflow('tiny')
    only.signal(signals[1])
    expect(await only.ended()).toEqual(well)
    expect(only.all('signal').map((line) => line['signal'])).toEqual(signals)
    expect(await later.get()).toMatchObject({ status: 'pending', fence: 0 })
    const { run, entries } = await handle.history()
    expect(run).toMatchObject({ status: 'waiting', attempt: 1, deaths: 0 })
    expect(entries).toMatchObject([{ name: 'long', status: 'succeeded', result: 'only' }])
    expect(world.effectsAt('start')).toHaveLength(1)
    expect(only.errors).toBe('')
  })
}

test('B157: runs, events and saves of a body that is running at SIGTERM are accepted', async () => {
  const world = await newWorld()
  const client = world.client(...workflows)
  const first = await worker(world, { name: 'first' })
  const waiting = await client.startWorkflow('listening')
  const handle = await client.startWorkflow('enqueuing', waiting.id)
  await first.line('in body')
  first.signal('SIGTERM')
  expect(await first.ended()).toEqual(well)
  await worker(world, { name: 'second' })
  // What the body could not do.
  expect(await handle.result()).toEqual([])
  expect(await waiting.result()).toBe('on')
  const { runs } = await client.listRuns({ workflow: 'tiny' })
  expect(runs.map(({ key }) => key).sort()).toEqual(Array.from({ length: 10 }, (_, i) => `tiny-${i}`))
  for (const { id } of runs) expect(await client.getHandle(id).result()).toBe('second')
})

describe('B160: an engine ends, and its process with it,', () => {
  for (const scenario of ['close twice', 'close before work', 'close in a body', 'fifty cycles']) {
    test(scenario, async () => {
      const world = await newWorld()
      const child = world.start('lifecycle', { scenario })
      expect(await child.ended()).toEqual(well)
      expect(child.errors).toBe('')
      expect(child.all('done')).toEqual([{ at: 'done', listeners: 0 }])
      const said = child.lines.filter(({ at }) => !['done', 'lost', 'refused'].includes(at))
      expect(said).toEqual([])
      for (const { code } of child.all('refused')) expect(code).toBe('ENGINE_CLOSED')
    })
  }
})

test('X49: a process that only works stays alive for a deferred run, until it is closed', async () => {
  const world = await newWorld()
  const child = world.start('lifecycle', { scenario: 'a deferred run' })
  const { id } = await child.line('deferred')
  const client = world.client('tiny')
  await client.getHandle(String(id)).result()
  expect(world.effectsAt('start')).toMatchObject([{ pid: child.pid }])
  expect(child.exit).toBeNull()
})

test('X49: a process that only works ends by itself once its engine is closed', async () => {
  const world = await newWorld()
  const child = world.start('lifecycle', { scenario: 'a parked run' })
  await child.line('done')
  expect(child.exit).toBeNull()
  child.signal('SIGTERM')
  expect(await child.ended()).toEqual(well)
})

for (const scenario of ['a client that does not close', 'a client that closes']) {
  test(`X49: ${scenario} ends when it has nothing left to do`, async () => {
    const world = await newWorld()
    const child = world.start('lifecycle', { scenario })
    expect(await child.ended()).toEqual(well)
    expect(child.errors).toBe('')
    const { runs } = await world.client('tiny').listRuns()
    expect(runs).toMatchObject([{ workflow: 'tiny', status: 'pending' }])
  })
}

async function worker(world: World, settings: object): Promise<Child> {
  const child = world.start('shutdown', settings)
  await child.line('ready')
  return child
}
