/** A body that blocks its process for longer than the lease. */
import { expect, test } from 'vitest'
import { newWorld, until } from './kit.ts'

const LEASE_MS = 500

test('B019: a body that blocks the event loop for 3 leases is taken over, told, and refused', async () => {
  const world = await newWorld()
  const client = world.client('heavy', 'quick')
  const blocker = world.start('blocker', { name: 'blocker', blocks: true, lease: LEASE_MS })
  await blocker.line('ready')
  const heir = world.start('blocker', { name: 'heir', blocks: false, lease: LEASE_MS })
  await heir.line('ready')
  // The other worker holds still until the run is in the hands of the one that will block.
  await world.freeze(heir)
  const handle = await client.startWorkflow('heavy')
  await blocker.line('in body')
  heir.continue()

  expect(await handle.result()).toEqual(['heir', 'heir'])
  expect(await blocker.line('aborted')).toMatchObject({ code: 'CLAIM_LOST' })
  await until('the late body ends', () => world.effectsAt('end', handle.id, 'crunch').length === 2)
  const { run, entries } = await handle.history()
  expect(run).toMatchObject({ status: 'completed', attempt: 2, fence: 2, error: null })
  expect(entries.map(({ name, result }) => [name, result])).toEqual([
    ['crunch', 'heir'],
    ['next', 'heir'],
  ])
  expect(world.effectsAt('start', handle.id, 'crunch').map(({ pid }) => pid)).toEqual([blocker.pid, heir.pid])
  expect(world.effectsAt('start', handle.id, 'next').map(({ pid }) => pid)).toEqual([heir.pid])
  expect(blocker.all('lost')).toMatchObject([{ run: handle.id, fence: 1 }])

  // It is of use again.
  heir.signal('SIGTERM')
  await heir.ended()
  expect(await (await client.startWorkflow('quick')).result()).toBe('blocker')
  blocker.signal('SIGTERM')
  expect(await blocker.ended()).toEqual({ code: 0, signal: null })
  expect([...blocker.all('unhandled'), ...heir.all('unhandled')]).toEqual([])
  expect(blocker.errors + heir.errors).toBe('')
})
