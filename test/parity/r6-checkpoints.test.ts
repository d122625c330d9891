import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { engineFor, gate, mortalEngine, realTurn, stores } from './runner-kit.ts'

/** Work as the runner has it: a function without steps, real awaits, checkpoints that it keeps itself. */
describe.each(stores)('R6 checkpoints of a function without steps, on %s:', (_, open) => {
  it('each attempt is given what the attempts before it saved', async () => {
    const seen: unknown[] = []
    const work = defineWorkflow({ name: 'work', retry: { schedule: ['1m', '1m'] } }, async ({ run }) => {
      seen.push(run.checkpoints)
      await realTurn()
      if (run.checkpoints['draft'] === undefined) {
        await run.save({ draft: 'text', tries: 1 })
        throw new Error('first')
      }
      await realTurn()
      await run.save({ tries: run.attempt })
      if (run.attempt === 2) throw new Error('second')
      return run.checkpoints
    })
    const test = await engineFor({ store: await open(), workflows: [work] })
    const { output } = await test.run(work, null)
    expect(seen).toEqual([{}, { draft: 'text', tries: 1 }, { draft: 'text', tries: 2 }])
    expect(output).toEqual({ draft: 'text', tries: 3 })
  })

  it('a patch is merged by its top-level keys, and replaces what lies below', async () => {
    const work = defineWorkflow({ name: 'work' }, async ({ run }) => {
      await run.save({ a: { x: 1, y: 2 }, b: 1 })
      await realTurn()
      await run.save({ a: { x: 3 } })
      return run.checkpoints
    })
    const test = await engineFor({ store: await open(), workflows: [work] })
    expect((await test.run(work, null)).output).toEqual({ a: { x: 3 }, b: 1 })
  })

  it('what was saved is durable once save has resolved: it outlives the process', async () => {
    const shared = await open()
    const time = new VirtualTime()
    const saved = gate()
    const seen: unknown[] = []
    const work = defineWorkflow({ name: 'work', retry: { schedule: ['1m'] } }, async ({ run }) => {
      seen.push(run.checkpoints)
      if (seen.length > 1) return 'taken over'
      await run.save({ page: 7 })
      saved.open()
      return await new Promise<string>(() => {})
    })
    const options = { store: shared, time, workflows: [work], lease: '10s' }
    const { test: first, die } = await mortalEngine({ ...options, seed: 'first' })
    const handle = await first.engine.startWorkflow(work, null)
    await saved.opened
    die()
    const second = await engineFor({ ...options, seed: 'second' })
    await second.advance('30s')
    expect(await second.engine.getRun(handle.id)).toMatchObject({ status: 'completed', attempt: 2 })
    expect(seen).toEqual([{}, { page: 7 }])
  })

  it('changing what was read changes nothing, neither here nor in the store', async () => {
    const work = defineWorkflow({ name: 'work' }, async ({ run }) => {
      await run.save({ list: [1] })
      const { list } = run.checkpoints as { list: number[] }
      list.push(2)
      return run.checkpoints
    })
    const test = await engineFor({ store: await open(), workflows: [work] })
    expect((await test.run(work, null)).output).toEqual({ list: [1] })
  })
})
