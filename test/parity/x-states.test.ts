import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { MemoryData, memory } from '../../src/stores/memory/index.ts'
import { failsAt, faulty, leadsTo } from './faults.ts'
import { called, codeOf, failing, rejection, signal, testEngine, turns } from './kit.ts'
import { memoryDatabase } from './stores.ts'

const HOT = [1000, 0] as const

describe.each(HOT)('with %i hot runs', (hotRuns) => {
  it('X2 nothing that happens while a step runs starts it again', async () => {
    const [begun, release] = [signal(), signal()]
    const long = defineWorkflow({ name: 'long' }, async ({ step }) => {
      await step.do('long', async () => {
        begun.send()
        await release.promise
      })
      return await step.waitForEvent('e')
    })
    const open = memoryDatabase()
    const test = await testEngine({ store: open(), workflows: [long], hotRuns })
    const other = await testEngine({ store: open(), workflows: [long], time: test.time, seed: 'other' })
    const handle = await test.engine.startWorkflow(long, null)
    await begun.promise
    await test.engine.sendEvent(handle.id, 'e', 'early')
    await handle.pause()
    await handle.resume()
    expect(codeOf(await rejection(test.engine.wake(handle.id)))).toBe('RUN_STATE')
    await test.advance('1h')
    await other.advance('1h')
    release.send()
    expect(await test.until(handle.result())).toBe('early')
    expect([called(test), called(other)]).toEqual([['long 1'], []])
  })

  it('X7 a step between two attempts is no failure to its siblings', async () => {
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      const flaky = step.do(
        'flaky',
        ({ attempt }) => {
          if (attempt < 3) throw new Error('not yet')
          return 'at last'
        },
        { retries: 2, retryDelay: '10m' },
      )
      const ticks = async (): Promise<number> => {
        for (let tick = 0; tick < 5; tick += 1) await step.sleep(`tick ${tick}`, '1m')
        return 5
      }
      return await Promise.all([flaky, ticks(), step.do('sibling', () => 's')])
    })
    const test = await testEngine({ workflows: [workflow], hotRuns })
    const handle = await test.engine.startWorkflow(workflow, null)
    await test.advance('6m')
    expect(await handle.status()).toBe('waiting')
    expect(await test.until(handle.result())).toEqual(['at last', 5, 's'])
    expect(called(test)).toEqual(['flaky 1', 'sibling 1', 'flaky 2', 'flaky 3'])
  })

  it('X8 catch and finally around a step never see that the run is parked', async () => {
    const seen: unknown[] = []
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      for (const name of ['a', 'b']) {
        try {
          await step.sleep(name, '1h')
          await step.do(`work ${name}`, () => null)
        } catch (error) {
          seen.push(error)
        } finally {
          await step.do(`tidy ${name}`, () => null)
        }
      }
      return 'sense'
    })
    const test = await testEngine({ workflows: [workflow], hotRuns })
    expect((await test.run(workflow, null)).output).toBe('sense')
    expect(seen).toEqual([])
    expect(called(test)).toEqual(['work a 1', 'tidy a 1', 'work b 1', 'tidy b 1'])
  })

  it('X8 a function that swallows its cancel is cancelled all the same', async () => {
    const caught: unknown[] = []
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      try {
        await step.sleep('long', '1h')
      } catch (error) {
        caught.push(codeOf(error))
      }
      await step.sleep('more', '1m').catch((error: unknown) => void caught.push(error))
      return 'nonsense'
    })
    const test = await testEngine({ workflows: [workflow], hotRuns })
    const { id, cancel } = await test.engine.startWorkflow(workflow, null)
    await test.advance('1m')
    await cancel('stop')
    await test.runUntilIdle()
    expect(await test.engine.getRun(id)).toMatchObject({ status: 'cancelled', output: null })
    expect(new Set(caught)).toEqual(new Set(['RUN_CANCELLED']))
  })

  it('X22 a run is not let go while a sibling of what waits is still writing', async () => {
    const release = signal()
    const workflow = defineWorkflow({ name: 'w' }, ({ step }) => {
      return Promise.all([
        step.sleep('pause', '1m'),
        step.do('slow', async () => {
          await release.promise
          return 'slow'
        }),
        step.do('fast', () => 'fast'),
      ])
    })
    const open = memoryDatabase()
    const test = await testEngine({ store: open(), workflows: [workflow], hotRuns })
    const other = await testEngine({ store: open(), workflows: [workflow], time: test.time, seed: 'other' })
    const handle = await test.engine.startWorkflow(workflow, null)
    await test.advance('5s')
    expect(await handle.status()).toBe('running')
    await other.advance('5m')
    release.send()
    expect(await test.until(handle.result())).toEqual([undefined, 'slow', 'fast'])
    expect([called(test), called(other)]).toEqual([['slow 1', 'fast 1'], []])
  })
})

describe('an ended run', () => {
  it('X9 that was cancelled stays so, and its queued steps are never executed', async () => {
    const data = new MemoryData()
    const workflow = defineWorkflow({ name: 'w' }, ({ step }) => step.do('call', 'later'))
    const test = await testEngine({ store: memory({ data }), workflows: [workflow] })
    const { handle } = await test.run(workflow, null)
    await handle.cancel('not needed')
    await test.runUntilIdle()
    let calls = 0
    const late = await testEngine({
      store: memory({ data }),
      workflows: [workflow],
      functions: { later: () => ++calls },
      time: test.time,
      seed: 'late',
    })
    await late.advance('1h')
    expect(await handle.status()).toBe('cancelled')
    const { runs } = await test.engine.listRuns({ parentId: handle.id })
    expect(runs.map(({ status }) => status)).toEqual(['cancelled'])
    expect(calls).toBe(0)
    for (const request of [test.engine.wake(handle.id), test.engine.sendEvent(handle.id, 'e')]) {
      expect(codeOf(await rejection(request))).toBe('RUN_STATE')
    }
    expect(await handle.status()).toBe('cancelled')
  })

  it('X10 that failed is not executed again by whatever comes', async () => {
    const data = new MemoryData()
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      await step.do('bad', failing(new Error('for good')))
    })
    const test = await testEngine({ store: memory({ data }), workflows: [workflow] })
    const { handle } = await test.run(workflow, 1, { id: 'the run', key: 'k' })
    for (const request of [
      test.engine.wake('the run'),
      handle.resume(),
      test.engine.sendEvent('the run', 'e'),
    ]) {
      expect(codeOf(await rejection(request))).toBe('RUN_STATE')
    }
    expect((await test.engine.startWorkflow(workflow, 1, { id: 'the run' })).created).toBe(false)
    expect((await test.engine.startWorkflow(workflow, 1, { key: 'k' })).created).toBe(false)
    const other = await testEngine({
      store: memory({ data }),
      workflows: [workflow],
      time: test.time,
      seed: 'other',
    })
    await other.advance('1h')
    await turns()
    expect(await handle.status()).toBe('failed')
    expect([called(test), called(other)]).toEqual([['bad 1'], []])
  })

  it.each(['before', 'after'] as const)(
    'B025 is not run again each lease, though its last write failed %s it was applied',
    async (side) => {
      const store = faulty(memoryDatabase()(), failsAt(leadsTo('completed'), side, 3))
      const workflow = defineWorkflow({ name: 'w' }, ({ step }) => step.do('one shot', () => 'done'))
      const test = await testEngine({ store, workflows: [workflow], lease: '10s' })
      const { id } = await test.until(test.engine.startWorkflow(workflow, null))
      await test.advance('50s')
      expect(await test.engine.getRun(id)).toMatchObject({
        status: 'completed',
        dueAt: null,
        owner: null,
        deaths: 0,
      })
      expect(called(test)).toEqual(['one shot 1'])
    },
  )

  it('X16 an early or doubled wake does not end a sleep', async () => {
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      await step.sleep('hour', '1h')
      return step.now()
    })
    for (const hotRuns of HOT) {
      const test = await testEngine({ workflows: [workflow], hotRuns })
      const begun = test.time.now
      const handle = await test.engine.startWorkflow(workflow, null)
      for (let round = 0; round < 3; round += 1) {
        await test.advance('1m')
        await Promise.allSettled([test.engine.wake(handle.id), test.engine.wake(handle.id)])
        await test.engine.sendEvent(handle.id, 'irrelevant')
      }
      expect(await test.until(handle.result())).toBe(begun + 3_600_000)
    }
  })
})
