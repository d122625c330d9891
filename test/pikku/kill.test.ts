/** A real Pikku workflow in real processes, of which the first is killed in the middle. */
import { writeFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { decodeValue } from '../../src/index.ts'
import { Child, newWorld, sharedDatabases, until, type World } from '../processes/kit.ts'

const program = new URL('./programs/order.mjs', import.meta.url)
const order = { items: 3, amount: 7 }
const output = { id: 'order of 3', reserved: 3, packed: '3 wrapped', charged: 7, sent: 'sent' }
const inOrder = ['make an id', 'reserve', 'wrap', 'label', 'charge', 'charge', 'send']

function start(world: World, settings: object = {}): Child {
  const child = new Child(program, { place: world.place, log: world.log, ...settings })
  onTestFinished(() => child.bury())
  return child
}

function steps(world: World): string[] {
  return world.effects().map(({ step }) => step)
}

/** Lets a second process bring the run to its end. */
async function finish(world: World, runId: unknown): Promise<Child> {
  const second = start(world, { wait: runId })
  const { status, output: result } = await second.line('ended')
  expect({ status, result }).toMatchObject({ status: 'completed', result: output })
  return second
}

describe.each(await sharedDatabases())('W14: a Pikku workflow on %s', (_, url) => {
  it.each(['make an id', 'reserve', 'label', 'charge', 'send'])(
    'goes on in another process when its own was killed in step "%s"',
    async (dieAt) => {
      const world = await newWorld(url)
      const first = start(world, { dieAt, start: order })
      const { runId } = await first.line('started')
      await until(`it is in step "${dieAt}"`, () => first.all('in step').some(({ step }) => step === dieAt))
      first.kill()
      await first.ended()
      const done = steps(world).slice(0, -1)
      await finish(world, runId)
      // What was done was not done again; the step in which it died was.
      expect(steps(world)).toEqual([...done, dieAt, ...inOrder.slice(done.length)])
      // The child run was found again, not started a second time.
      // A run's record ends a moment after the run, when its lock is let go.
      const store = world.openStore()
      const statuses = async () => {
        const { runs } = await store.listRuns({ workflow: 'pikku:run', limit: 10 })
        return runs.map(({ status }) => status)
      }
      await expect.poll(statuses, { timeout: 20_000 }).toEqual(['completed', 'completed'])
    },
  )

  it('wakes in another process when its own was killed during a sleep', async () => {
    const world = await newWorld(url)
    const store = world.openStore()
    const first = start(world, { start: order, sleep: 1500 })
    const { runId } = await first.line('started')
    await until('the sleep is scheduled', async () => {
      const { runs } = await store.listRuns({ workflow: 'pikku:call', limit: 1 })
      const [sleeping] = runs
      return sleeping?.status === 'pending'
    })
    first.kill()
    await first.ended()
    await finish(world, runId)
    expect(steps(world)).toEqual(inOrder)
  })

  it('keeps the result of the process that took a step over from one that was frozen', async () => {
    const world = await newWorld(url)
    const store = world.openStore()
    const gate = world.file('gate')
    const first = start(world, { holdAt: 'charge', gate, start: order })
    const { runId } = await first.line('started')
    await until('it is in the step', () => first.all('in step').some(({ step }) => step === 'charge'))
    await world.freeze(first)
    const second = await finish(world, runId)
    writeFileSync(gate, '')
    first.continue()
    await first.line('let go')
    // It lets what it does come to an end.
    first.signal('SIGTERM')
    await first.ended()
    const output = decodeValue((await store.getRun(String(runId)))?.output ?? '')
    expect(output).toMatchObject({ by: second.pid })
    const { runs } = await store.listRuns({ parentId: String(runId), limit: 10 })
    const charge = runs.find(({ parentStep }) => parentStep === 'charge')
    expect(decodeValue(charge?.output ?? '')).toMatchObject({ by: second.pid })
  })

  it('is completed as a record too, with its steps', async () => {
    const world = await newWorld(url)
    const store = world.openStore()
    const child = start(world, { start: order, sleep: 10 })
    const runId = String((await child.line('started'))['runId'])
    await until('the record is completed', async () => (await store.getRun(runId))?.status === 'completed')
    const { runs } = await store.listRuns({ parentId: runId, limit: 100 })
    expect(runs.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 'completed'))
  })
})
