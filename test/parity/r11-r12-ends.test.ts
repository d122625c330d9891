import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { engineFor, gate, shutDown, stores } from './runner-kit.ts'

describe.each(stores)('R11 close, on %s:', (_, open) => {
  it('waits for the work that is running, and keeps what it returned', async () => {
    const store = await open()
    const finish = gate()
    const work = defineWorkflow({ name: 'work' }, async ({ step }) => {
      return await step.do('write', async () => {
        await finish.opened
        return 'written'
      })
    })
    const test = await engineFor({ store, workflows: [work] })
    const { id } = await test.engine.startWorkflow(work, null)
    await test.runUntilIdle()
    const closing = test.engine.close({ timeout: '1h' })
    finish.open()
    await test.until(closing)
    const [journal] = await store.journal([id], { entries: true })
    expect(journal?.entries).toMatchObject([{ key: 'write', status: 'succeeded' }])
  })

  it('hands back at once what it does not wait for, so that the next process goes on', async () => {
    const store = await open()
    let hang = true
    const work = defineWorkflow({ name: 'work' }, async ({ run }) => {
      if (hang) await new Promise(() => {})
      return run.attempt
    })
    const first = await engineFor({ store, workflows: [work], seed: 'first' })
    const { id } = await first.engine.startWorkflow(work, null)
    await first.runUntilIdle()
    await shutDown(first)
    hang = false
    const second = await engineFor({ store, workflows: [work], time: first.time, seed: 'second' })
    await second.runUntilIdle()
    expect(await second.engine.getRun(id)).toMatchObject({ status: 'completed', attempt: 1 })
  })
})

describe.each(stores)('R12 retention, on %s:', (_, open) => {
  it('is 24 hours from the end of the work; then the run and its key are gone', async () => {
    const work = defineWorkflow({ name: 'work' }, async ({ step }) => {
      await step.sleep('long', '3 days')
    })
    const test = await engineFor({ store: await open(), workflows: [work] })
    const { handle } = await test.run(work, null, { key: 'k' })
    await test.advance('23h')
    expect(await test.engine.getRun(handle.id)).toMatchObject({ status: 'completed' })
    expect(await test.engine.startWorkflow(work, null, { key: 'k' })).toMatchObject({ id: handle.id })
    await test.advance('1h 2m')
    await test.advance('2m')
    expect(await test.engine.getRun(handle.id)).toBe(null)
    const next = await test.engine.startWorkflow(work, null, { key: 'k' })
    expect(next.created).toBe(true)
    expect(next.id).not.toBe(handle.id)
  })

  it('is what the workflow says, for every way in which a run can end', async () => {
    const ok = defineWorkflow({ name: 'ok', retention: '1h' }, () => 1)
    const fails = defineWorkflow({ name: 'fails', retention: '1h' }, () => {
      throw new Error('no')
    })
    const waits = defineWorkflow({ name: 'waits', retention: '1h' }, ({ step }) => step.waitForEvent('never'))
    const test = await engineFor({ store: await open(), workflows: [ok, fails, waits] })
    const runs = [await test.run(ok, null), await test.run(fails, null), await test.run(waits, null)]
    await test.engine.cancel(runs[2]?.handle.id ?? '')
    await test.runUntilIdle()
    const statuses = await Promise.all(runs.map(({ handle }) => handle.status()))
    expect(statuses).toEqual(['completed', 'failed', 'cancelled'])
    await test.advance('59m')
    expect((await test.engine.listRuns()).runs).toHaveLength(3)
    await test.advance('3m')
    await test.advance('2m')
    expect((await test.engine.listRuns()).runs).toEqual([])
  })
})
