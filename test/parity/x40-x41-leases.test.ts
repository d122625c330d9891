import { describe, expect, it } from 'vitest'
import { ClaimLostError } from '../../src/core/errors.ts'
import { defineWorkflow } from '../../src/engine/define.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { engineFor, gate, stores } from './runner-kit.ts'

const LEASE = '10s'

describe.each(stores)('X40 work that takes longer than the lease, alive and saving, on %s:', (_, open) => {
  it('is executed once, although another worker looks for what was left behind', async () => {
    const [store, time, finish] = [await open(), new VirtualTime(), gate()]
    const attempts: number[] = []
    const work = defineWorkflow({ name: 'work', retry: { schedule: ['1m'] } }, async ({ run }) => {
      attempts.push(run.attempt)
      await run.save({ page: 1 })
      await finish.opened
      await run.save({ page: 2 })
      return run.checkpoints
    })
    const options = { store, time, workflows: [work], lease: LEASE }
    const first = await engineFor({ ...options, seed: 'first' })
    const { id } = await first.engine.startWorkflow(work, null)
    await engineFor({ ...options, seed: 'second' })
    await first.advance('2m')
    expect(await first.engine.getRun(id)).toMatchObject({ status: 'running', attempt: 1, fence: 1 })
    finish.open()
    expect(await first.until(first.engine.getHandle(id).result())).toEqual({ page: 2 })
    expect(attempts).toEqual([1])
  })
})

describe.each(stores)('X41 work whose claim was lost, on %s:', (_, open) => {
  it('is told so by its next save and its signal, and nothing that it saves then is kept', async () => {
    const { first, second, id, awake, finish, told } = await frozenWorker()
    await second.advance('30s')
    awake.open()
    await first.time.settle()
    finish.open()
    await expect.poll(() => told.length, { timeout: 10_000 }).toBe(2)
    expect(told).toEqual([expect.any(ClaimLostError), true])
    await second.runUntilIdle()
    const { entries } = await second.engine.getHandle(id).history()
    expect(entries).toMatchObject([{ name: 'by', result: 2 }])
  })

  it('ends as the worker says that took it over', async () => {
    const { second, id, awake, finish } = await frozenWorker()
    await second.advance('30s')
    finish.open()
    expect(await second.until(second.engine.getHandle(id).result())).toBe('attempt 2')
    awake.open()
    await second.runUntilIdle()
    expect(await second.engine.getRun(id)).toMatchObject({ status: 'completed', output: '["attempt 2"]' })
  })

  /** The first worker's time stands still while the second's goes on, as of a process that is not scheduled. */
  async function frozenWorker() {
    const [store, begun, awake, finish] = [await open(), gate(), gate(), gate()]
    const told: unknown[] = []
    const work = defineWorkflow({ name: 'work', retry: { schedule: ['1m'] } }, async ({ run, signal }) => {
      if (run.attempt === 1) {
        begun.open()
        await awake.opened
        await run.save({ by: 1, mine: true }).catch((error: unknown) => told.push(error))
        told.push(signal.aborted)
        return 'attempt 1'
      }
      await run.save({ by: 2 })
      await finish.opened
      return `attempt ${run.attempt}`
    })
    const options = { store, workflows: [work], lease: LEASE }
    const first = await engineFor({ ...options, time: new VirtualTime(), seed: 'first' })
    const { id } = await first.engine.startWorkflow(work, null)
    await begun.opened
    const second = await engineFor({ ...options, time: new VirtualTime(), seed: 'second' })
    return { first, second, id, awake, finish, told }
  }
})
