/** A worker that is frozen past its lease in the middle of a body, and wakes after another has taken over. */
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Child, newWorld, sharedDatabases, until, type World } from './kit.ts'

const LEASE_MS = 500
const databases = await sharedDatabases()

test.each(databases)(
  'X27 X41 B021: a zombie is told, its writes are refused, and it works on under a new identity, on %s',
  async (_, url) => {
    const world = await newWorld(url)
    const client = world.client('patient', 'hasty', 'quick')
    const zombie = await ready(world, 'zombie', true)
    const handle = await client.startWorkflow('patient')
    await zombie.line('in body')
    const before = await handle.get()
    expect(before).toMatchObject({ status: 'running', fence: 1, attempt: 1 })
    await world.freeze(zombie)

    const heir = await ready(world, 'heir', false)
    expect(await heir.line('in body')).toMatchObject({ run: handle.id, attempt: 2 })
    expect(await handle.result()).toBe('heir')
    zombie.continue()

    expect(await zombie.line('aborted')).toMatchObject({ code: 'CLAIM_LOST' })
    expect(await zombie.line('save refused')).toMatchObject({ code: 'CLAIM_LOST' })
    expect(zombie.all('lost')).toMatchObject([{ run: handle.id, fence: 1 }])
    await endsOf(world, handle.id, 2)
    heir.signal('SIGTERM')
    await heir.ended()

    const next = await client.startWorkflow('quick')
    expect(await next.result()).toBe('zombie')
    const late = await client.startWorkflow('patient')
    await zombie.line('in body')
    const { owner } = await late.get()
    expect(owner).not.toBe(before.owner)

    // What the first run's journal holds is what the heir did, and nothing of the zombie's save.
    const { run, entries } = await handle.history()
    expect(run).toMatchObject({ status: 'completed', fence: 2, attempt: 2 })
    expect(entries).toMatchObject([{ name: 'long', kind: 'step', status: 'succeeded', result: 'heir' }])
    expect(zombie.all('unhandled')).toEqual([])
    expect(zombie.errors).toBe('')
    expect(await world.flaws()).toEqual([])
  },
)

test.each(databases)(
  'X27: a result that a zombie returns before it notices is not recorded, on %s',
  async (_, url) => {
    const world = await newWorld(url)
    const client = world.client('patient', 'hasty', 'quick')
    const zombie = await ready(world, 'zombie', true)
    const handle = await client.startWorkflow('hasty')
    await zombie.line('in body')
    await world.freeze(zombie)
    const heir = await ready(world, 'heir', false)
    expect(await handle.result()).toEqual(['heir', 'heir'])
    // The body can end as soon as the process goes on, at the same time as the guard of the lease strikes.
    writeFileSync(world.file('thawed'), '')
    zombie.continue()
    await zombie.line('lost')
    await endsOf(world, handle.id, 3)

    const { run, entries } = await handle.history()
    expect(run).toMatchObject({ status: 'completed', fence: 2, attempt: 2 })
    expect(entries.map(({ result }) => result)).toEqual(['heir', 'heir'])
    // The zombie did not go on to the next step.
    expect(world.effectsAt('start', handle.id, 'next').map(({ pid }) => pid)).toEqual([heir.pid])
    expect(zombie.all('unhandled')).toEqual([])
    expect(zombie.errors).toBe('')
  },
)

test.each(databases)(
  'B020: a lone worker that was frozen past its lease takes its own run over, on %s',
  async (_, url) => {
    const world = await newWorld(url)
    const client = world.client('patient', 'hasty', 'quick')
    const worker = await ready(world, 'lone', true)
    const handle = await client.startWorkflow('patient')
    await worker.line('in body')
    const { owner } = await handle.get()
    await world.freeze(worker)
    await leaseIsOver(world, owner ?? '')
    worker.continue()
    expect(await worker.line('aborted')).toMatchObject({ code: 'CLAIM_LOST' })
    // Once, unless this machine is so busy that it loses the short lease again.
    const again = await worker.line('in body')
    expect(again).toMatchObject({ run: handle.id })
    expect(again['attempt']).toBeGreaterThanOrEqual(2)
    expect((await handle.get()).deaths).toBeGreaterThanOrEqual(1)
    expect(worker.all('unhandled')).toEqual([])
  },
)

async function ready(world: World, name: string, waits: boolean): Promise<Child> {
  const child = world.start('zombie', { name, waits, lease: LEASE_MS })
  await child.line('ready')
  return child
}

/** Waits until so many bodies of the run have ended, wherever. */
async function endsOf(world: World, run: string, count: number): Promise<void> {
  await until('all bodies have ended', () => world.effectsAt('end', run).length >= count)
}

/** Waits until a worker's lease has run out by the store's own rule: it would not renew it. */
async function leaseIsOver(world: World, worker: string): Promise<void> {
  const store = world.openStore()
  await until('the lease runs out', async () => {
    return !(await store.heartbeat({ id: worker, leaseMs: 1, register: false }, Date.now())).alive
  })
}
