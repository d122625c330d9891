import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { Environment } from '../../src/ports/environment.ts'
import { createOf } from '../../src/testing/store-suite/fixture.ts'
import { type VirtualEnvironmentOptions, VirtualTime } from '../../src/testing/virtual-time.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'
import { engineFor, realTurn, stores } from './runner-kit.ts'

/** Counts the timers that are set at the same time. */
class CountingTime extends VirtualTime {
  most = 0
  #set = 0

  override environment(options?: VirtualEnvironmentOptions): Environment {
    const environment = super.environment(options)
    return {
      ...environment,
      setTimer: (delay, callback, timerOptions) => {
        this.#set += 1
        this.most = Math.max(this.most, this.#set)
        let isSet = true
        const over = (): void => {
          if (isSet) this.#set -= 1
          isSet = false
        }
        const cancel = environment.setTimer(
          delay,
          () => {
            over()
            callback()
          },
          timerOptions,
        )
        return () => {
          over()
          cancel()
        }
      },
    }
  }
}

const ITEMS = 300
const CONCURRENCY = 10

describe.each(stores)('X48 300 items that are due when a worker with 10 places starts, on %s:', (_, open) => {
  it('are all executed once, never more than 10 at a time, and no more are claimed than can start', async () => {
    const { executed, most, claimed } = await swept()
    expect(new Set(executed).size).toBe(ITEMS)
    expect(executed).toHaveLength(ITEMS)
    expect(most).toBe(CONCURRENCY)
    expect(Math.max(...claimed)).toBeLessThanOrEqual(CONCURRENCY)
  })

  it('are taken in the order in which they came due', async () => {
    const { executed } = await swept()
    const places = executed.map((id) => Number(id.slice(4)))
    const late = places.filter((place, at) => Math.abs(place - at) > 2 * CONCURRENCY)
    expect(late).toEqual([])
  })

  it('arm no timer each', async () => {
    const { timers } = await swept()
    expect(timers).toBeLessThan(3 * CONCURRENCY)
  })

  async function swept() {
    const shared = await open()
    await shared.migrate()
    const time = new CountingTime()
    const items = Array.from({ length: ITEMS }, (_item, i) =>
      createOf({ id: `item${i}`, workflow: 'work', input: '[1]', dueAt: time.now - ITEMS + i }),
    )
    await shared.commit(items, time.now)
    const executed: string[] = []
    const claimed: number[] = []
    let running = 0
    let most = 0
    const work = defineWorkflow({ name: 'work' }, async ({ run }) => {
      running += 1
      most = Math.max(most, running)
      executed.push(run.id)
      await realTurn()
      running -= 1
    })
    const store = wrapStore(shared, async (method, call) => {
      const result = await call()
      if (method === 'claim' && Array.isArray(result)) claimed.push(result.length)
      return result
    })
    const test = await engineFor({ store, time, workflows: [work], work: { concurrency: CONCURRENCY } })
    await test.runUntilIdle()
    return { executed, most, claimed, timers: time.most }
  }
})
