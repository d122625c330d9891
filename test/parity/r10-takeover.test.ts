import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { engineFor, gate, mortalEngine, stores } from './runner-kit.ts'

describe.each(stores)('R10 work whose worker died, on %s:', (_, open) => {
  it('is taken over once the lease is over, not before, and the death counts as an attempt', async () => {
    const { second, handle, started, attempts } = await dyingWorker(['1m', '1m'])
    await second.advance('9s')
    expect(attempts).toEqual([1])
    await second.advance('10s')
    expect(attempts).toEqual([1, 2])
    started.finish.open()
    expect(await second.until(handle.result())).toBe('done by attempt 2')
  })

  it('has no attempt left if it died in the last one: it is abandoned, and says why', async () => {
    const { second, handle, attempts } = await dyingWorker([])
    await second.advance('30s')
    const record = await second.engine.getRun(handle.id)
    expect(attempts).toEqual([1])
    expect(record?.status).toBe('failed')
    expect(record?.error).toMatch(/died during the last of 1 attempts/)
  })

  it('fails for good when what is left of its schedule is used up', async () => {
    const { second, handle, attempts, started } = await dyingWorker(['1m'])
    await second.advance('19s')
    started.fail.open()
    await second.runUntilIdle()
    expect(attempts).toEqual([1, 2])
    expect(await second.engine.getRun(handle.id)).toMatchObject({ status: 'failed', attempt: 2 })
  })

  async function dyingWorker(schedule: readonly string[]) {
    const shared = await open()
    const time = new VirtualTime()
    const attempts: number[] = []
    const begun = gate()
    const finish = gate()
    const fail = gate()
    const retry = schedule.length === 0 ? { retries: 0 } : { schedule }
    const work = defineWorkflow({ name: 'work', retry }, async ({ run }) => {
      attempts.push(run.attempt)
      begun.open()
      if (attempts.length === 1) await new Promise(() => {})
      await Promise.race([finish.opened, fail.opened.then(() => Promise.reject(new Error('failed')))])
      return `done by attempt ${run.attempt}`
    })
    const options = { store: shared, time, workflows: [work], lease: '10s' }
    const { test: first, die } = await mortalEngine({ ...options, seed: 'first' })
    const { id } = await first.engine.startWorkflow(work, null)
    await begun.opened
    die()
    const second = await engineFor({ ...options, seed: 'second' })
    return { second, handle: second.engine.getHandle(id), started: { finish, fail }, attempts }
  }
})
