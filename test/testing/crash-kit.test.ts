import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { crashEverywhere } from '../../src/testing/crash-kit.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'

const order = defineWorkflow({ name: 'order' }, async ({ input, step }) => {
  const charge = await step.do('charge', () => `charged ${input}`)
  await step.sleep('cool off', '2 days')
  return [charge, await step.do('label', () => 'label 7')]
})

const approval = defineWorkflow({ name: 'approval' }, async ({ step }) => await step.waitForEvent('approved'))

describe('crashEverywhere', () => {
  it('finds a workflow sound whose side effects are in steps', async () => {
    const report = await crashEverywhere(order, 'o-1')
    report.assertSound()
    expect(report.baseline).toMatchObject({ status: 'completed', output: ['charged o-1', 'label 7'] })
    expect(report.unsound).toEqual([])
    expect(String(report)).toContain('always completed as without a crash')
  })

  it('cuts before and after every write', async () => {
    let writes = 0
    const store = () =>
      wrapStore(memory(), async (method, call) => {
        if (['commit', 'claim', 'heartbeat', 'reap'].includes(method)) writes += 1
        return await call()
      })
    const { cuts } = await crashEverywhere(order, 'o-1', { store: () => (writes === 0 ? store() : memory()) })
    const sides = cuts.filter(({ method }) => method !== 'journal').map(({ call, side }) => `${side} ${call}`)
    expect(new Set(sides).size).toBe(2 * writes)
    expect(cuts.filter(({ method }) => method === 'commit')).toHaveLength(2 * 4)
  })

  it('says which step bodies a crash would repeat, and where', async () => {
    const { repeated } = await crashEverywhere(order, 'o-1')
    expect(repeated).toMatchObject([
      { name: 'step charge', usual: 1, most: 2, cuts: [{ side: 'before', method: 'commit' }] },
      { name: 'step label', usual: 1, most: 2, cuts: [{ side: 'before', method: 'commit' }] },
    ])
  })

  it('reports a side effect outside of steps as one that is repeated', async () => {
    const sent: string[] = []
    const careless = defineWorkflow({ name: 'careless' }, async ({ step }) => {
      sent.push('mail')
      await step.sleep('pause', '1 day')
      return await step.do('work', () => 'done')
    })
    const report = await crashEverywhere(careless, null, { effects: { mails: () => sent.length } })
    report.assertSound()
    const mails = report.repeated.find(({ name }) => name === 'mails')
    expect(mails).toMatchObject({ usual: 1, most: 2 })
    expect(mails?.cuts.length).toBeGreaterThan(5)
    expect(String(report)).toMatch(/mails: 2 times instead of 1 \(at \d+ points\)/)
  })

  it('catches a workflow that is not deterministic', async () => {
    let calls = 0
    const setup = () => {
      calls = 0
    }
    const fickle = defineWorkflow({ name: 'fickle' }, async ({ step }) => {
      calls += 1
      await step.do(`call ${calls}`, () => null)
      await step.sleep('pause', '1h')
    })
    const report = await crashEverywhere(fickle, null, { setup, patience: 1 })
    expect(report.baseline.status).toBe('completed')
    expect(report.unsound.length).toBeGreaterThan(0)
    expect(() => report.assertSound()).toThrow(/ended as paused \(NonDeterminismError: .*"call 1"/)
  })

  it('catches a result that depends on memory', async () => {
    let seen = 0
    const setup = () => {
      seen = 0
    }
    const counts = defineWorkflow({ name: 'counts' }, async ({ step }) => {
      await step.sleep('pause', '1h')
      seen += 1
      await step.sleep('pause', '1h')
      return seen
    })
    const report = await crashEverywhere(counts, null, { setup })
    expect(() => report.assertSound()).toThrow('It returned 2 instead of 1.')
  })

  it('lets the test play the outside world, which survives', async () => {
    const report = await crashEverywhere(approval, null, {
      drive: async ({ engine, advance }, handle) => {
        await advance('1h')
        await engine.sendEvent(handle.id, 'approved', 'yes')
      },
    })
    report.assertSound()
    expect(report.baseline.output).toBe('yes')
  })

  it('refuses to call a run sound that never ended', async () => {
    const report = await crashEverywhere(approval, null)
    expect(() => report.assertSound()).toThrow('left waiting')
  })

  it('compares as the test says', async () => {
    const times = defineWorkflow({ name: 'times' }, async ({ step }) => step.now())
    const strict = await crashEverywhere(times, null)
    expect(strict.unsound.length).toBeGreaterThan(0)
    const lenient = await crashEverywhere(times, null, { equals: (a, b) => a.status === b.status })
    lenient.assertSound()
  })

  it('does the same every time', async () => {
    const [first, second] = [await crashEverywhere(order, 'o-1'), await crashEverywhere(order, 'o-1')]
    expect(String(second)).toBe(String(first))
    expect(second.cuts).toEqual(first.cuts)
  })

  it('works on a store that answers in real time', async () => {
    const store = () =>
      wrapStore(memory(), async (_method, call) => {
        await new Promise((resolve) => setImmediate(resolve))
        const answer = await call()
        await new Promise((resolve) => setImmediate(resolve))
        return answer
      })
    const report = await crashEverywhere(order, 'o-1', { store })
    report.assertSound()
    expect(report.cuts.length).toBeGreaterThan(10)
  })
})
