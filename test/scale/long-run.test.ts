import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { createEngine } from '../../src/engine/engine.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { silentLog } from '../../src/testing/virtual-time.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'
import { median } from './kit.ts'

const STEPS = 5000

describe(`a run of ${STEPS} steps`, () => {
  it('takes no longer for its last steps than for its first, and no more calls of the store', async () => {
    const { engine, starts, commits } = await walked()
    const times = starts.slice(1).map(({ at }, i) => at - (starts[i]?.at ?? 0))
    const [first, last] = [times.slice(0, 100), times.slice(-100)]
    expect(starts).toHaveLength(STEPS)
    expect(median(last)).toBeLessThan(2 * median(first))
    const callsPerStep = (from: number, to: number) =>
      ((starts[to]?.calls ?? 0) - (starts[from]?.calls ?? 0)) / (to - from)
    expect(callsPerStep(STEPS - 101, STEPS - 1)).toBeLessThanOrEqual(callsPerStep(0, 100) + 0.1)
    expect(commits()).toBeLessThan(1.1 * STEPS)
    await engine.close()
  })

  it('is replayed with one reading of its journal, and its bodies are not called again', async () => {
    const { engine, store, workflow, starts } = await walked()
    await engine.close()
    const calls: string[] = []
    const counted = wrapStore(store, (method, call) => {
      calls.push(method)
      return call()
    })
    const options = { workflows: [workflow], log: silentLog, keepStoreOpen: true }
    const second = createEngine({ ...options, store: counted })
    await second.work()
    await second.sendEvent('long', 'go', 'went')
    expect(await second.getHandle('long').result({ timeout: '30s' })).toEqual([STEPS, 'went'])
    expect(starts).toHaveLength(STEPS)
    expect(calls.filter((method) => method === 'journal')).toHaveLength(1)
    expect(calls.filter((method) => method === 'commit').length).toBeLessThan(10)
    await second.close()
  })

  async function walked() {
    const store = memory()
    const starts: { readonly at: number; readonly calls: number }[] = []
    let calls = 0
    let commits = 0
    const counted = wrapStore(store, (method, call) => {
      calls += 1
      if (method === 'commit') commits += 1
      return call()
    })
    const workflow = defineWorkflow({ name: 'walk' }, async ({ step }) => {
      let sum = 0
      for (let i = 0; i < STEPS; i += 1) {
        sum += await step.do('step', () => {
          starts.push({ at: performance.now(), calls })
          return 1
        })
      }
      return [sum, await step.waitForEvent('go')]
    })
    const options = { workflows: [workflow], log: silentLog, keepStoreOpen: true, pollInterval: '1h' }
    const engine = createEngine({ ...options, store: counted })
    await engine.work()
    const { status } = await engine.startWorkflow(workflow, null, { id: 'long' })
    while ((await status()) !== 'waiting') await new Promise((resolve) => setImmediate(resolve))
    return { engine, store, workflow, starts, commits: () => commits }
  }
})
