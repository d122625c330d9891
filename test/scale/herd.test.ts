import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'
import { engineFor } from '../input/fixture.ts'

const SLEEPERS = 10_000
const CONCURRENCY = 50

describe(`${SLEEPERS} sleepers that are due in the same millisecond (B053)`, () => {
  it('all wake, each once, as many at a time as there are places, in bounded claims', async () => {
    const { test, woken, most, claims, alarm } = await herd()
    await test.advance(alarm - test.time.now)
    await test.runUntilIdle()
    expect(woken).toHaveLength(SLEEPERS)
    expect(new Set(woken).size).toBe(SLEEPERS)
    expect(most()).toBeLessThanOrEqual(CONCURRENCY)
    expect(Math.max(...claims)).toBeLessThanOrEqual(CONCURRENCY)
    expect(claims.length).toBeLessThan(SLEEPERS / 2)
    expect(await test.engine.stats()).toMatchObject([{ status: 'completed', count: SLEEPERS }])
  })

  async function herd() {
    const woken: string[] = []
    const claims: number[] = []
    let [running, most] = [0, 0]
    const sleeper = defineWorkflow({ name: 'sleeper' }, async ({ input, run, step }) => {
      await step.sleepUntil('alarm', Number(input))
      await step.do('wake', async () => {
        running += 1
        most = Math.max(most, running)
        woken.push(run.id)
        await Promise.resolve()
        running -= 1
      })
    })
    const store = wrapStore(memory(), async (method, call) => {
      const result = await call()
      if (method === 'claim' && Array.isArray(result)) claims.push(result.length)
      return result
    })
    const test = await engineFor({ store, workflows: [sleeper], work: { concurrency: CONCURRENCY } })
    const alarm = test.time.now + 86_400_000
    const starts = Array.from({ length: SLEEPERS }, () => test.engine.startWorkflow(sleeper, alarm))
    await test.until(Promise.all(starts))
    await test.advance('1h')
    expect(await test.engine.stats()).toMatchObject([{ status: 'waiting', count: SLEEPERS }])
    claims.length = 0
    return { test, woken, claims, most: () => most, alarm }
  }
})
