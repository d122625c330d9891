/** A disk that is full while runs execute, and has room again later. */
import { rmSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { type Engine, isPerdureError, type RunHandle, StoreError } from '../../src/index.ts'
import { fill, onSmallDisk, smallDisk } from './disk.ts'
import { type Child, until, type World } from './kit.ts'

const LEASE_MS = 1_000
const steps = ['s1', 's2', 's3', 's4', 's5']

onSmallDisk(
  'B196: on a full disk nothing is lost, nothing seems done, and all goes on when there is room',
  async () => {
    const { world, filler } = await smallDisk()
    const client = world.client('bulky')
    const workers = [await worker(world), await worker(world)]
    const accepted = await startSome(client, 10)
    await until('all runs are in their third step', () => {
      return new Set(world.effectsAt('start', undefined, 's3').map(({ run }) => run)).size === accepted.length
    })
    fill(filler)
    writeFileSync(world.file('full'), '')

    const { more, error, key } = await startUntilRefused(client)
    accepted.push(...more)
    expect(error).toBeInstanceOf(StoreError)
    expect(error).toMatchObject({ code: 'STORE_FULL', failure: 'full' })
    // A process that has work of its own that it cannot write tells its callers, too.
    const answer = await askToStart(world, workers)
    if (answer['id'] === undefined) expect(answer).toMatchObject({ failure: 'full' })
    else accepted.push(client.getHandle(String(answer['id'])))
    const early = await completed(client)
    for (const id of early) await expectWhole(client, id)

    rmSync(filler)
    // What was refused was not started: the same key starts it now.
    const repeated = await client.startWorkflow('bulky', null, { key })
    expect(repeated.created).toBe(true)
    accepted.push(repeated)
    for (const handle of accepted) {
      expect(await handle.result()).toEqual(steps.map((step) => `${handle.id} ${step}`))
      await expectWhole(client, handle.id)
    }
    expect((await client.stats()).filter(({ status }) => status !== 'completed')).toEqual([])
    for (const child of workers) {
      child.signal('SIGTERM')
      expect(await child.ended()).toEqual({ code: 0, signal: null })
      expect([...child.all('unhandled'), child.errors]).toEqual([''])
    }
    expect(await world.flaws()).toEqual([])
    const starts = world.effectsAt('start').length
    console.log(
      `full-disk.test.ts: ${accepted.length} runs accepted, ${early.length} completed while the disk was full, ` +
        `${starts - 5 * accepted.length} bodies repeated, a working engine answered ${JSON.stringify(answer)}`,
    )
  },
)

async function worker(world: World): Promise<Child> {
  const child = world.start('bulky', { lease: LEASE_MS, maxDeaths: 1_000 })
  await child.line('ready')
  return child
}

async function startSome(client: Engine, count: number): Promise<RunHandle[]> {
  return await Promise.all(Array.from({ length: count }, () => client.startWorkflow('bulky')))
}

/** There may be some room left in files that exist already. */
async function startUntilRefused(client: Engine) {
  const more: RunHandle[] = []
  for (let i = 0; i < 500; i++) {
    const key = `large-${i}`
    try {
      more.push(await client.startWorkflow('bulky', 'x'.repeat(50_000), { key }))
    } catch (error) {
      if (!isPerdureError(error)) throw error
      return { more, error, key }
    }
  }
  throw new Error('The disk does not get full.')
}

/** Asks one of the workers to start a run by its own engine. */
async function askToStart(world: World, workers: readonly Child[]) {
  writeFileSync(world.file('start'), '')
  return await until('a worker answers', () => {
    const answers = workers.flatMap((child) => [...child.all('accepted'), ...child.all('refused')])
    return answers[0]
  })
}

async function completed(client: Engine): Promise<readonly string[]> {
  return (await client.listRuns({ status: ['completed'], limit: 1_000 })).runs.map(({ id }) => id)
}

/** A run that counts as completed has all its steps in its journal. */
async function expectWhole(client: Engine, id: string): Promise<void> {
  const { entries } = await client.getHandle(id).history()
  expect(entries.map(({ name, status }) => [name, status])).toEqual(steps.map((name) => [name, 'succeeded']))
}
