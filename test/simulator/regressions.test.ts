import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { createEngine } from '../../src/engine/engine.ts'
import type { Workflow } from '../../src/engine/workflow.ts'
import type { Environment } from '../../src/ports/environment.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { NO_FAULTS, simulate } from '../../src/testing/simulator/index.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'

/** What the simulator has found, each in the smallest form that shows it. */
describe('found by the simulator', () => {
  it('a body knows that it is a body: its saves take no place in the order of outcomes', async () => {
    const { engine, time } = await working(
      defineWorkflow({ name: 'w' }, async ({ step, run }) => {
        await step.do('a', async () => await run.save({ x: 1 }))
        const nested = step.do('b', async () => await step.do('c', () => 1))
        return await nested.catch((error: { code?: string }) => error.code)
      }),
    )
    const handle = await settled(time, engine.startWorkflow('w'))
    expect(await settled(time, handle.result())).toBe('NESTED_STEP')
  })

  it('a save keeps its place although only what has no place follows it', async () => {
    const seen: string[][] = []
    const { engine, time } = await working(
      defineWorkflow({ name: 'w' }, async ({ step, run }) => {
        const order: string[] = []
        seen.push(order)
        const event = step.waitForEvent('e').then(() => order.push('event'))
        await run.save({ x: 1 }).then(() => order.push('save'))
        step.now()
        await event
      }),
      0,
    )
    const handle = await settled(time, engine.startWorkflow('w'))
    await time.advance(1000)
    await settled(time, engine.sendEvent(handle.id, 'e'))
    await settled(time, handle.result())
    // The first execution was parked after the save; the replay must see the same order.
    expect(seen.at(-1)).toEqual(['save', 'event'])
    expect(seen.length).toBeGreaterThan(1)
  })

  it('a run that is to pause does not spin while its bodies run', async () => {
    const time = new VirtualTime()
    const world = time.environment()
    let timers = 0
    const environment: Environment = {
      ...world,
      // A spinning engine would keep virtual time from moving on: then its timers are dropped.
      setTimer: (delayMs, callback, options) => {
        timers += 1
        return timers > 2000 ? () => {} : world.setTimer(delayMs, callback, options)
      },
    }
    const takes = (ms: number) => () => new Promise<void>((resolve) => world.setTimer(ms, resolve))
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      const short = step.do('short', takes(1000)).then(() => step.do('next', takes(10)))
      await Promise.all([step.do('long', takes(10_000)), short])
    })
    const engine = createEngine({ store: memory(), workflows: [workflow], environment })
    await settled(time, engine.work())
    const handle = await settled(time, engine.startWorkflow('w'))
    await time.advance(500)
    await settled(time, handle.pause())
    await time.advance(15_000)
    expect(timers).toBeLessThan(500)
    expect(await settled(time, handle.status())).toBe('paused')
  })

  it('nothing, when nothing fails', async () => {
    expect((await simulate({ seed: 1, faults: NO_FAULTS })).violations).toEqual([])
  })
})

async function working(workflow: Workflow, hotRuns = 1000) {
  const time = new VirtualTime()
  const engine = createEngine({
    store: memory(),
    workflows: [workflow],
    environment: time.environment(),
    hotRuns,
  })
  await settled(time, engine.work())
  return { engine, time }
}

/** Lets time run until the promise is settled; gives up after a minute of it. */
async function settled<Value>(time: VirtualTime, promise: Promise<Value>): Promise<Value> {
  let isSettled = false
  const mark = (): void => {
    isSettled = true
  }
  promise.then(mark, mark)
  for (let round = 0; round < 600 && !isSettled; round += 1) await time.advance(100)
  if (!isSettled) throw new Error('it never settles')
  return await promise
}
