/** Work that ends its process each time that it is executed. */
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { newWorld } from './kit.ts'
import { Supervisor } from './supervisor.ts'

const LEASE_MS = 500
const MAX_DEATHS = 3
const settings = { lease: LEASE_MS, maxDeaths: MAX_DEATHS }

test('B134 X42: a run that kills its process ends as poisoned after the cap, and the work goes on', async () => {
  const world = await newWorld()
  const client = world.client('poison', 'caller', 'harmless', 'long')
  const { id } = await client.startWorkflow('poison')
  const supervisor = new Supervisor(world, settings)
  await expect(client.getHandle(id).result()).rejects.toMatchObject({
    code: 'RUN_FAILED',
    cause: { code: 'POISONED_RUN' },
  })
  const later = await client.startWorkflow('harmless')
  expect(await later.result()).toBe('fine')
  await supervisor.stop()

  // On a slow machine a worker may lose its lease without dying. That counts too, and the worker says so.
  expect(world.effectsAt('start', id, 'kill').length + supervisor.losses(id)).toBe(MAX_DEATHS)
  expect(supervisor.deaths).toBe(world.effectsAt('start', id, 'kill').length)
  const { run } = await client.getHandle(id).history()
  expect(run).toMatchObject({ status: 'failed', deaths: MAX_DEATHS, attempt: MAX_DEATHS + 1 })
})

test('B134 X42: the caller of a function that kills its process is told', async () => {
  const world = await newWorld()
  const client = world.client('poison', 'caller', 'harmless', 'long')
  const handle = await client.startWorkflow('caller')
  const supervisor = new Supervisor(world, settings)
  expect(await handle.result()).toBe('POISONED_RUN')
  await supervisor.stop()
  const [child] = (await client.listRuns({ parentId: handle.id })).runs
  const losses = supervisor.losses(child?.id ?? '')
  expect(world.effectsAt('start', handle.id, 'call').length + losses).toBe(MAX_DEATHS)
})

test('B134: a cancel during the loop of deaths ends it', async () => {
  const world = await newWorld()
  const client = world.client('poison', 'caller', 'harmless', 'long')
  const handle = await client.startWorkflow('poison')
  const first = world.start('poison', settings)
  expect(await first.ended()).toEqual({ code: 137, signal: null })
  // Held by a worker that is dead and not found out yet.
  expect(await handle.status()).toBe('running')
  await handle.cancel('enough')
  const supervisor = new Supervisor(world, settings)
  await expect(handle.result()).rejects.toMatchObject({ code: 'RUN_CANCELLED' })
  await supervisor.stop()
  expect(supervisor.deaths).toBe(0)
  expect(world.effectsAt('start', handle.id, 'kill')).toHaveLength(1)
})

test('B134: graceful restarts are not deaths', async () => {
  const world = await newWorld()
  const client = world.client('poison', 'caller', 'harmless', 'long')
  const handle = await client.startWorkflow('long')
  for (let restart = 0; restart < MAX_DEATHS + 2; restart++) {
    const worker = world.start('poison', { maxDeaths: 1, grace: 0 })
    await worker.line('in body')
    worker.signal('SIGTERM')
    expect(await worker.ended()).toEqual({ code: 0, signal: null })
    expect(await handle.get()).toMatchObject({ status: 'waiting', deaths: 0, attempt: 1 })
  }
  writeFileSync(world.file('done'), '')
  const supervisor = new Supervisor(world, settings)
  expect(await handle.result()).toBe('done')
  await supervisor.stop()
})
