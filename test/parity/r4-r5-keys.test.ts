import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { engineFor, gate, realTurn, stores } from './runner-kit.ts'

const nothing = defineWorkflow({ name: 'nothing' }, () => 'done')

describe('R4 starting work by its key', () => {
  it('gives the id of the run that was created', async () => {
    const { engine } = await engineFor({ workflows: [nothing] })
    const { id, created } = await engine.startWorkflow(nothing, null, { key: 'order-1' })
    expect(created).toBe(true)
    expect(await engine.getRun(id)).toMatchObject({ id, key: 'order-1' })
  })

  it('rejects an unknown workflow, naming it and those that are known', async () => {
    const { engine } = await engineFor({ workflows: [nothing] })
    const start = engine.startWorkflow('somthing', null, { key: 'a' })
    await expect(start).rejects.toMatchObject({ code: 'UNKNOWN_WORKFLOW' })
    await expect(start).rejects.toThrow(/"somthing".*"nothing"/)
  })

  it.each(['', ' ', '\t\n', null, 0, 7, false, {}])('rejects the key %j, and starts nothing', async (key) => {
    const { engine } = await engineFor({ workflows: [nothing] })
    const start = engine.startWorkflow(nothing, null, { key: key as string })
    await expect(start).rejects.toMatchObject({ code: 'INVALID_NAME' })
    expect(await engine.stats()).toEqual([])
  })

  it('rejects a key that the workflow derives and that is none, and starts nothing', async () => {
    const keyed = defineWorkflow({ name: 'keyed', key: (input: { id?: string }) => input.id ?? '' }, () => 1)
    const { engine } = await engineFor({ workflows: [keyed] })
    await expect(engine.startWorkflow(keyed, {})).rejects.toMatchObject({ code: 'INVALID_NAME' })
    expect(await engine.stats()).toEqual([])
  })
})

describe.each(stores)('R5 starting work whose key is taken, on %s:', (_, open) => {
  it('work that is due later stays due when it was', async () => {
    const { engine, time, advance } = await onStore()
    const first = await engine.startWorkflow(nothing, null, { key: 'k', delay: '1h' })
    const due = time.now + 3_600_000
    await advance('10m')
    const again = await engine.startWorkflow(nothing, null, { key: 'k', delay: '5m', onConflict: 'revive' })
    expect([again.id, again.created]).toEqual([first.id, false])
    expect(await engine.getRun(first.id)).toMatchObject({ status: 'pending', dueAt: due })
  })

  it('work that is running is found, and not executed a second time', async () => {
    const { engine, until, runUntilIdle, hold, calls } = await onStore()
    const first = await engine.startWorkflow('held', null, { key: 'k' })
    await runUntilIdle()
    const again = await engine.startWorkflow('held', null, { key: 'k', onConflict: 'revive' })
    expect([again.id, again.created, await again.status()]).toEqual([first.id, false, 'running'])
    hold.open()
    await until(first.result())
    expect(calls).toEqual([1])
  })

  it('work that is done is found, with what it returned, and not done again', async () => {
    const { engine, run, until } = await onStore()
    const { handle } = await run('nothing', null, { key: 'k' })
    const again = await engine.startWorkflow('nothing', null, { key: 'k', onConflict: 'revive' })
    expect([again.id, again.created, await again.status()]).toEqual([handle.id, false, 'completed'])
    expect(await until(again.result())).toBe('done')
  })

  it('abandoned work is left alone unless it is asked to revive it', async () => {
    const { engine, run } = await onStore()
    const { handle } = await run('breaks', null, { key: 'k' })
    const again = await engine.startWorkflow('breaks', null, { key: 'k' })
    expect([again.id, again.created, await again.status()]).toEqual([handle.id, false, 'failed'])
  })

  it('abandoned work is revived: first attempt, due now, its checkpoints kept', async () => {
    const { engine, run, time, runUntilIdle, seen, advance } = await onStore()
    const { handle, record } = await run('breaks', null, { key: 'k' })
    expect([record.status, record.attempt]).toEqual(['failed', 2])
    await advance('1h')
    const again = await engine.startWorkflow('breaks', null, { key: 'k', onConflict: 'revive' })
    expect(again).toMatchObject({ id: handle.id, created: false })
    expect(await again.get()).toMatchObject({ attempt: 1, error: null, endedAt: null })
    await runUntilIdle()
    expect(seen).toEqual([{}, { page: 1 }, { page: 2 }, { page: 3 }])
    expect(await again.get()).toMatchObject({ status: 'failed', attempt: 2, endedAt: time.now })
  })

  async function onStore() {
    const hold = gate()
    const calls: number[] = []
    const seen: Readonly<Record<string, unknown>>[] = []
    const held = defineWorkflow({ name: 'held' }, async () => {
      calls.push(calls.length + 1)
      await hold.opened
    })
    const retry = { schedule: ['10m'] }
    const breaks = defineWorkflow({ name: 'breaks', retry }, async ({ run }) => {
      await realTurn()
      seen.push(run.checkpoints)
      await run.save({ page: seen.length })
      throw new Error('out of paper')
    })
    const test = await engineFor({ store: await open(), workflows: [nothing, held, breaks] })
    return {
      engine: test.engine,
      time: test.time,
      run: test.run.bind(test),
      until: test.until.bind(test),
      advance: test.advance.bind(test),
      runUntilIdle: test.runUntilIdle.bind(test),
      hold,
      calls,
      seen,
    }
  }
})
