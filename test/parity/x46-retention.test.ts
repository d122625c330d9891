import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { engineFor, gate, stores } from './runner-kit.ts'

const retention = '1h'

describe.each(stores)('X46 retention, on %s, leaves alone', (_, open) => {
  it('work that is not due yet', async () => {
    const { test, work } = await pruned()
    const { id } = await test.engine.startWorkflow(work, 'ok', { delay: '30 days' })
    await longAfter(test)
    expect(await test.engine.getRun(id)).toMatchObject({ status: 'pending' })
  })

  it('work that is running', async () => {
    const { test, work, finish } = await pruned()
    const { id } = await test.engine.startWorkflow(work, 'hold')
    await longAfter(test)
    expect(await test.engine.getRun(id)).toMatchObject({ status: 'running' })
    finish.open()
    await test.runUntilIdle()
    expect(await test.engine.getRun(id)).toMatchObject({ status: 'completed' })
  })

  it('work that waits for its next attempt, or for an event', async () => {
    const { test, work } = await pruned()
    const failing = await test.engine.startWorkflow(work, 'fail')
    const waiting = await test.engine.startWorkflow(work, 'wait')
    await longAfter(test)
    expect(await failing.get()).toMatchObject({ status: 'pending', attempt: 2 })
    expect(await waiting.get()).toMatchObject({ status: 'waiting' })
  })

  it('work that an operator has paused', async () => {
    const { test, work } = await pruned()
    const { id } = await test.engine.startWorkflow(work, 'wait')
    await test.runUntilIdle()
    await test.engine.pause(id)
    await longAfter(test)
    expect(await test.engine.getRun(id)).toMatchObject({ status: 'paused' })
  })

  it('abandoned work until its time is over; a revival starts the time anew', async () => {
    const { test, work } = await pruned()
    const { handle } = await test.run(work, 'give up', { key: 'k' })
    await test.advance('59m')
    const again = await test.engine.startWorkflow(work, 'give up', { key: 'k', onConflict: 'revive' })
    expect(again.id).toBe(handle.id)
    await test.runUntilIdle()
    await test.advance('59m')
    expect(await test.engine.getRun(handle.id)).toMatchObject({ status: 'failed' })
    await longAfter(test)
    expect(await test.engine.getRun(handle.id)).toBe(null)
  })

  async function pruned() {
    const finish = gate()
    const retry = { schedule: ['30 days'] }
    const work = defineWorkflow({ name: 'work', retention, retry }, async ({ input, step }) => {
      if (input === 'hold') await finish.opened
      if (input === 'fail') throw new Error('no')
      if (input === 'give up') throw Object.assign(new Error('no'), { permanent: true })
      if (input === 'wait') await step.waitForEvent('never')
    })
    const test = await engineFor({ store: await open(), workflows: [work] })
    return { test, work, finish }
  }

  /** Long after any retention is over, with several rounds of pruning. */
  async function longAfter(test: { readonly advance: (duration: string) => Promise<void> }) {
    await test.advance('2 days')
    await test.advance('2m')
    await test.advance('2m')
  }
})
