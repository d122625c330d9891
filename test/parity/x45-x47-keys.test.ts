import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { engineFor, gate, stores } from './runner-kit.ts'

describe.each(stores)('X45 a key that is used by several engines at the same instant, on %s:', (_, open) => {
  it('makes one run, which all of them are given, and which is executed once', async () => {
    const executed: string[] = []
    const work = defineWorkflow({ name: 'work' }, ({ run }) => {
      executed.push(run.id)
    })
    const store = await open()
    const first = await engineFor({ store, workflows: [work], seed: 'engine 1' })
    const options = { store, workflows: [work], time: first.time }
    const others = await Promise.all([2, 3, 4].map((n) => engineFor({ ...options, seed: `engine ${n}` })))
    const engines = [first, ...others].map(({ engine }) => engine)
    const starts = engines.flatMap((engine) =>
      Array.from({ length: 25 }, () => engine.startWorkflow(work, null, { key: 'k' })),
    )
    const handles = await first.until(Promise.all(starts))
    for (const test of [first, ...others]) await test.runUntilIdle()
    expect(new Set(handles.map(({ id }) => id)).size).toBe(1)
    expect(handles.filter(({ created }) => created)).toHaveLength(1)
    expect(executed).toEqual([handles[0]?.id])
    expect(await first.engine.stats()).toMatchObject([{ status: 'completed', count: 1 }])
  })

  it('makes one run of an id that callers chose, also within one engine, and executes it once', async () => {
    const hold = gate()
    const executed: string[] = []
    const work = defineWorkflow({ name: 'work' }, async ({ run }) => {
      executed.push(run.id)
      await hold.opened
    })
    const test = await engineFor({ store: await open(), workflows: [work] })
    const start = () => test.engine.startWorkflow(work, null, { id: 'chosen' })
    const together = await test.until(Promise.all(Array.from({ length: 10 }, start)))
    const later = await test.until(start())
    expect([...together, later].filter(({ created }) => created)).toHaveLength(1)
    hold.open()
    await test.until(later.result())
    expect(executed).toEqual(['chosen'])
  })

  it('revives abandoned work once, whoever else asks for it', async () => {
    let executed = 0
    const work = defineWorkflow({ name: 'work' }, () => {
      executed += 1
      throw new Error('no')
    })
    const store = await open()
    const test = await engineFor({ store, workflows: [work], seed: 'worker' })
    await test.run(work, null, { key: 'k' })
    const client = await engineFor({ store, workflows: [work], time: test.time, work: false, seed: 'client' })
    const starts = [test, test, client, client].map(({ engine }) =>
      engine.startWorkflow(work, null, { key: 'k', onConflict: 'revive' }),
    )
    const handles = await test.until(Promise.all(starts))
    await test.runUntilIdle()
    expect(handles.map(({ created }) => created)).toEqual([false, false, false, false])
    expect(executed).toBe(2)
  })
})

describe.each(stores)('X47 a key that is used with another input, on %s:', (_, open) => {
  it('finds the first run, and says that its input is another', async () => {
    const { engine, work } = await keyed()
    const first = await engine.startWorkflow(work, { n: 1 }, { key: 'k' })
    const same = await engine.startWorkflow(work, { n: 1 }, { key: 'k' })
    const other = await engine.startWorkflow(work, { n: 2 }, { key: 'k' })
    expect([first.inputDiffers, same.inputDiffers, other.inputDiffers]).toEqual([false, false, true])
    expect(other.id).toBe(first.id)
    expect(await engine.getRun(first.id)).toMatchObject({ input: '[{"n":1},1]' })
  })

  it('is refused if that is asked for, in words that name the run and say that the input is another', async () => {
    const { engine, work } = await keyed()
    const { id } = await engine.startWorkflow(work, { n: 1 }, { key: 'k' })
    const start = engine.startWorkflow(work, { n: 2 }, { key: 'k', onConflict: 'reject' })
    await expect(start).rejects.toMatchObject({ code: 'RUN_CONFLICT', runId: id })
    await expect(start).rejects.toThrow(/another input/)
  })

  it('belongs to its workflow: another workflow may use the same key', async () => {
    const { engine, work, other } = await keyed()
    const one = await engine.startWorkflow(work, { n: 1 }, { key: 'k' })
    const two = await engine.startWorkflow(other, { n: 1 }, { key: 'k' })
    expect([two.created, two.id === one.id]).toEqual([true, false])
  })

  async function keyed() {
    const work = defineWorkflow({ name: 'work' }, ({ input }: { input: { n: number } }) => input.n)
    const other = defineWorkflow({ name: 'other' }, ({ input }: { input: { n: number } }) => input.n)
    const test = await engineFor({ store: await open(), workflows: [work, other], work: false })
    return { engine: test.engine, work, other }
  }
})
