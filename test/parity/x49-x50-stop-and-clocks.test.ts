import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { createEngine } from '../../src/engine/engine.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { runProcess } from '../sqlite/helpers.ts'
import { engineFor, gate, realTurn, stores } from './runner-kit.ts'

describe.each(stores)('X49 a close during work, on %s:', (_, open) => {
  it('lets the work that runs use what it needs until it has ended, and begins nothing new', async () => {
    const [store, begun, finish] = [await open(), gate(), gate()]
    const executed: string[] = []
    const work = defineWorkflow({ name: 'work' }, async ({ run, input }) => {
      executed.push(run.id)
      if (input !== 'slow') return
      begun.open()
      await finish.opened
      await run.save({ page: 1 })
    })
    const test = await engineFor({ store, workflows: [work] })
    await test.engine.startWorkflow(work, 'slow', { id: 'slow' })
    await begun.opened
    const closing = test.engine.close({ timeout: '1h' })
    await test.engine.startWorkflow(work, 'late', { id: 'late' })
    finish.open()
    await test.until(closing)
    expect(executed).toEqual(['slow'])
    expect(await store.getRun('slow')).toMatchObject({ status: 'completed' })
    expect(await store.getRun('late')).toMatchObject({ status: 'pending', fence: 0 })
  })

  it('leaves no timer behind', async () => {
    const time = new VirtualTime()
    const work = defineWorkflow({ name: 'work', retry: { schedule: ['1h'] } }, async ({ step, input }) => {
      if (input === 'fail') throw new Error('no')
      await step.sleep('long', '1 day')
    })
    const test = await engineFor({ store: await open(), time, workflows: [work] })
    await test.engine.startWorkflow(work, 'fail')
    await test.engine.startWorkflow(work, 'sleep')
    await test.engine.startWorkflow(work, 'later', { delay: '1h' })
    await test.runUntilIdle()
    await test.until(test.engine.close())
    expect(time.next({ background: true })).toBe(null)
  })

  it('leaves no timer behind of those who waited for a result', async () => {
    const time = new VirtualTime()
    const work = defineWorkflow({ name: 'work' }, () => 'done')
    const test = await engineFor({ store: await open(), time, workflows: [work] })
    const { handle } = await test.run(work, null)
    expect(await test.until(handle.result())).toBe('done')
    const later = await test.engine.startWorkflow(work, null, { delay: '1h' })
    const waiting = expect(later.result()).rejects.toMatchObject({ code: 'ENGINE_CLOSED' })
    await test.until(test.engine.close())
    await waiting
    expect(time.next({ background: true })).toBe(null)
  })
})

describe('X49 a process with nothing but deferred work', () => {
  it('lives until the work is done, and ends when the engine is closed', async () => {
    const url = new URL('../../dist/index.js', import.meta.url).href
    const output = await runProcess(`
      import { createEngine, defineWorkflow } from ${JSON.stringify(url)}
      const work = defineWorkflow({ name: 'work' }, async () => {
        process.stdout.write('done')
        setImmediate(() => engine.close())
      })
      const engine = createEngine({ store: sqlite(':memory:'), workflows: [work] })
      await engine.work()
      await engine.startWorkflow(work, null, { delay: 300 })`)
    expect(output).toBe('done')
  })
})

describe('X50 clocks that differ', () => {
  const MINUTE = 60_000

  it.each([-MINUTE, MINUTE])(
    'work that was started %i ms off is done once the worker thinks it due',
    async (skew) => {
      const { time, client, worker, executed, work } = await skewed(skew)
      await client.startWorkflow(work, null)
      await time.advance(Math.max(0, skew) + 2000)
      await settle(time)
      expect(executed).toEqual([Math.max(0, skew)])
      await close(time, [client, worker])
    },
  )

  it('a delay is never cut short by the clock of the worker', async () => {
    const { time, client, worker, executed, work } = await skewed(0)
    await client.startWorkflow(work, null, { delay: '10m' })
    await time.advance(10 * MINUTE - 1)
    await settle(time)
    expect(executed).toEqual([])
    await time.advance(1)
    await settle(time)
    expect(executed).toEqual([10 * MINUTE])
    await close(time, [client, worker])
  })

  it('timers that fire early find nothing due, and are set again: no minute is lost', async () => {
    const { time, client, worker, executed, work } = await skewed(0, 7)
    await client.startWorkflow(work, null, { delay: '10m' })
    await time.advance(10 * MINUTE + 10)
    await settle(time)
    expect(executed).toHaveLength(1)
    expect(executed[0]).toBeGreaterThanOrEqual(10 * MINUTE)
    await close(time, [client, worker])
  })

  async function skewed(skew: number, early = 0) {
    const [time, store] = [new VirtualTime(), memory()]
    const begin = time.now
    const executed: number[] = []
    const work = defineWorkflow({ name: 'work' }, () => {
      executed.push(time.now - begin)
    })
    const options = { store, workflows: [work], keepStoreOpen: true, pollInterval: '1m' }
    const environment = time.environment({ seed: 'worker' })
    const worker = createEngine({
      ...options,
      environment: {
        ...environment,
        setTimer: (delay, callback, timer) =>
          environment.setTimer(Math.max(1, delay - early), callback, timer),
      },
    })
    const client = createEngine({ ...options, environment: time.environment({ seed: 'client', skew }) })
    await worker.work()
    return { time, client, worker, executed, work }
  }

  async function settle(time: VirtualTime) {
    for (let turn = 0; turn < 20; turn += 1) await time.settle()
    await realTurn()
  }

  async function close(time: VirtualTime, engines: readonly { close(): Promise<void> }[]) {
    const closing = Promise.all(engines.map((engine) => engine.close()))
    await time.advance(1)
    await closing
  }
})
