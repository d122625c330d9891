import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { Workflow } from '../../src/engine/workflow.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { freezable } from './faults.ts'
import { codeOf, failing, MINUTE, mortalEngine, rejection, testEngine } from './kit.ts'
import { memoryDatabase } from './stores.ts'

const sleeper = defineWorkflow({ name: 'sleeper' }, ({ step }) => step.sleep('long', '1 day'))
const good = defineWorkflow({ name: 'good' }, () => 'good')
const bad = defineWorkflow({ name: 'bad' }, failing(new TypeError('bad')))

describe.each([1000, 0])('children, with %i hot runs', (hotRuns) => {
  it('B108 that are cancelled alone are told from a cancel of the parent', async () => {
    const catches = defineWorkflow({ name: 'catches' }, async ({ step }) => {
      return [await step.do('c', sleeper, null).catch(codeOf), await step.do('more', () => 'goes on')]
    })
    const lets = defineWorkflow({ name: 'lets' }, ({ step }) => step.do('c', sleeper, null))
    const outcomes: unknown[] = []
    for (const parent of [catches, lets] as Workflow[]) {
      const test = await testEngine({ workflows: [parent, sleeper], hotRuns })
      const handle = await test.engine.startWorkflow(parent, null)
      await test.advance('1m')
      const [child] = (await test.engine.listRuns({ parentId: handle.id })).runs
      await test.engine.cancel(child?.id ?? '')
      await test.advance('1m')
      const { status, cancelReason } = await handle.get()
      expect((await test.engine.getRun(child?.id ?? ''))?.status).toBe('cancelled')
      outcomes.push([
        status,
        cancelReason,
        await test.until(handle.result()).catch((e: Error) => codeOf(e.cause)),
      ])
    }
    expect(outcomes).toEqual([
      ['completed', null, ['CHILD_CANCELLED', 'goes on']],
      ['failed', null, 'CHILD_CANCELLED'],
    ])
  })

  it('B110 that fail, are cancelled or succeed all settle their steps', async () => {
    const parent = defineWorkflow({ name: 'parent' }, async ({ step }) => {
      const all = [step.do('bad', bad, null), step.do('sleeper', sleeper, null), step.do('good', good, null)]
      return (await Promise.allSettled(all)).map((one) =>
        one.status === 'fulfilled' ? one.value : one.reason.name,
      )
    })
    const test = await testEngine({ workflows: [parent, bad, sleeper, good], hotRuns })
    const handle = await test.engine.startWorkflow(parent, null)
    await test.advance('1m')
    const [child] = (await test.engine.listRuns({ workflow: 'sleeper' })).runs
    await test.engine.cancel(child?.id ?? '')
    expect(await test.until(handle.result())).toEqual(['TypeError', 'ChildCancelledError', 'good'])
  })

  it('B111 that are pruned at once have told their parent before', async () => {
    const brief = { retention: 0 }
    const gone = defineWorkflow({ name: 'gone', ...brief }, () => 'kept')
    const lost = defineWorkflow({ name: 'lost', ...brief }, failing(new TypeError('kept too')))
    const parent = defineWorkflow({ name: 'parent' }, async ({ step }) => {
      return [
        await step.do('a', gone, null),
        await step.do('b', lost, null).catch((error: Error) => error.message),
      ]
    })
    const open = memoryDatabase()
    const time = new VirtualTime()
    const front = await testEngine({
      time,
      store: open(),
      workflows: [parent],
      hotRuns,
      seed: 'front',
      lease: '1h',
    })
    const handle = await front.engine.startWorkflow(parent, null)
    await front.advance('1s')
    await handle.pause()
    const back = await testEngine({ time, store: open(), workflows: [gone, lost], seed: 'back', lease: '1h' })
    await back.advance('5m')
    expect((await back.engine.listRuns({ parentId: handle.id })).runs).toEqual([])
    await handle.resume()
    await front.advance('5m')
    expect(await front.until(handle.result())).toEqual(['kept', 'kept too'])
  })
})

describe('a child', () => {
  it('B111 that a parent waits for cannot be deleted', async () => {
    const parent = defineWorkflow({ name: 'parent' }, ({ step }) => step.do('c', sleeper, null))
    const test = await testEngine({ workflows: [parent, sleeper] })
    const { id } = await test.engine.startWorkflow(parent, null)
    await test.advance('1m')
    const [child] = (await test.engine.listRuns({ parentId: id })).runs
    expect(codeOf(await rejection(test.engine.deleteRun(child?.id ?? '')))).toBe('RUN_STATE')
  })
})

describe('an event', () => {
  const waits = defineWorkflow({ name: 'waits' }, async ({ step }) => {
    const got = await step.waitForEvent<number>('e', { timeout: '1m' })
    await step.sleep('then', '1h')
    return got
  })

  it('B109 near the end of its wait is taken, kept or refused, and every replay agrees', async () => {
    for (let offset = -10; offset <= 10; offset += 1) {
      const test = await testEngine({ workflows: [waits], hotRuns: Math.abs(offset % 2) })
      const handle = await test.engine.startWorkflow(waits, null)
      await test.advance(MINUTE + offset)
      await test.engine.sendEvent(handle.id, 'e', offset)
      const output = await test.until(handle.result())
      expect([offset, output]).toEqual([offset, offset < 0 ? offset : null])
      const [entry] = (await handle.history()).entries
      expect(entry?.result).toBe(output)
      expect(codeOf(await rejection(test.engine.sendEvent(handle.id, 'e', 'late')))).toBe('RUN_STATE')
    }
  })

  it('B006 is answered the same by an execution that was replaced and by the one that replaced it', async () => {
    for (let offset = -5; offset <= 5; offset += 1) {
      const [time, open] = [new VirtualTime(), memoryDatabase()]
      const shared = { time, workflows: [waits], lease: '15s' }
      const frozen = freezable(open())
      const first = await mortalEngine({ ...shared, store: frozen.store, seed: 'first' })
      const { id } = await first.engine.startWorkflow(waits, null)
      await first.advance(MINUTE - 100)
      const second = await testEngine({ ...shared, store: open(), seed: 'second' })
      frozen.freeze()
      await second.advance(100 + offset)
      await second.engine.sendEvent(id, 'e', offset)
      frozen.thaw()
      await first.advance('5s')
      await second.advance('2h')
      await first.advance('1m')
      const handle = second.engine.getHandle(id)
      const { run, entries } = await handle.history()
      const output = await second.until(handle.result())
      expect([offset, run.status]).toEqual([offset, 'completed'])
      expect([offset, output]).toEqual([offset, entries[0]?.result])
      expect([offset, null]).toContain(output)
      await first.close()
      await second.close()
    }
  })
})
