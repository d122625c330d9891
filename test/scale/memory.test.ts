import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { createEngine } from '../../src/engine/engine.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { silentLog, VirtualTime } from '../../src/testing/virtual-time.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'
import { heapInUse, MB } from './kit.ts'

describe('an idle worker', () => {
  it('holds on to nothing for 50,000 polls, with heartbeats, sweeps and somebody who waits (B161)', async () => {
    const time = new VirtualTime()
    let polls = 0
    const store = wrapStore(memory(), (method, call) => {
      if (method === 'nextDue') polls += 1
      return call()
    })
    const waits = defineWorkflow({ name: 'waits' }, ({ step }) => step.waitForEvent('never'))
    const engine = createEngine({ store, workflows: [waits], environment: time.environment() })
    await engine.work()
    const handle = await engine.startWorkflow(waits, null)
    handle.result().catch(() => {})
    await time.advance(2_000_000)
    const [before, pollsBefore] = [await heapInUse(), polls]
    await time.advance(50_000_000)
    expect(polls - pollsBefore).toBeGreaterThanOrEqual(49_000)
    expect((await heapInUse()) - before).toBeLessThan(5 * MB)
    const closing = engine.close()
    await time.advance(1)
    await closing
  })
})

describe('20,000 tiny runs in one process', () => {
  it('leave nothing behind when they have ended: heap and listeners are as after 2,000 (B162)', async () => {
    const store = memory()
    const tiny = defineWorkflow({ name: 'tiny', retention: 0 }, ({ step }) => step.do('one', () => 1))
    const engine = createEngine({ store, workflows: [tiny], log: silentLog, pollInterval: 20 })
    await engine.work()
    const wave = async (): Promise<void> => {
      const handles = await Promise.all(Array.from({ length: 500 }, () => engine.startWorkflow(tiny, null)))
      await Promise.all(handles.map((handle) => handle.result()))
      await store.prune(Date.now() + 1, 1000)
    }
    const listeners = () => process.eventNames().map((name) => process.listenerCount(name))
    for (let i = 0; i < 4; i += 1) await wave()
    const [heap, listening] = [await heapInUse(), listeners()]
    for (let i = 0; i < 36; i += 1) await wave()
    expect((await heapInUse()) / heap).toBeLessThan(1.2)
    expect(listeners()).toEqual(listening)
    expect(await store.stats()).toEqual([])
    await engine.close()
  })
})
