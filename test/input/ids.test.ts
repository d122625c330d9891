import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { stores } from '../parity/runner-kit.ts'
import { engineFor } from './fixture.ts'

const separators = [':', '/', '|', ',', '%', ' ', '#', '?', '\n', '.', '$', '\\', '"', "'", '=', '\u001f']

describe.each(stores)('ids and keys with separators in them, on %s (B082):', (_, open) => {
  it('pairs that join to the same text are two', async () => {
    const names = ['a', ...separators.map((separator) => `a${separator}b`)]
    const workflows = names.map((name) => defineWorkflow({ name }, ({ run }) => [run.workflow, run.key]))
    const test = await engineFor({ store: await open(), workflows })
    for (const separator of separators) {
      const one = await test.run(`a${separator}b`, null, { key: 'c' })
      const two = await test.run('a', null, { key: `b${separator}c` })
      expect(one.output).toEqual([`a${separator}b`, 'c'])
      expect(two.output).toEqual(['a', `b${separator}c`])
    }
    expect((await test.engine.listRuns()).runs).toHaveLength(2 * separators.length)
  })

  it('each finds its own run, events, steps and place in a list again', async () => {
    const waits = defineWorkflow({ name: 'waits' }, async ({ run, step }) => {
      const event = await step.waitForEvent(`event of ${run.id}`)
      return [await step.do(`step of ${run.id}`, () => run.id), event]
    })
    const test = await engineFor({ store: await open(), workflows: [waits], hotRuns: 0 })
    const ids = separators.flatMap((separator) => [`a${separator}b`, `a${separator}`, `${separator}b`])
    const named = ids.filter((id) => id.trim() !== '')
    for (const id of named)
      await test.engine.startWorkflow(waits, null, { id, queue: id, tags: [id], key: id })
    await test.runUntilIdle()
    for (const id of named) await test.engine.sendEvent(id, `event of ${id}`, id, { id })
    await test.runUntilIdle()
    for (const id of named) {
      expect(await test.until(test.engine.getHandle(id).result())).toEqual([id, id])
      const filters = [{ key: id }, { tag: id }, { queue: id }]
      for (const filter of filters) {
        expect((await test.engine.listRuns(filter)).runs.map((run) => run.id)).toEqual([id])
      }
    }
    for (const id of named) await test.engine.deleteRun(id)
    expect(await test.engine.stats()).toEqual([])
  })
})

describe('ids of digits (B083)', () => {
  it('live beside generated ones: 50 of each are 100 runs', async () => {
    const work = defineWorkflow({ name: 'work' }, () => 1)
    const test = await engineFor({ workflows: [work] })
    for (let i = 1; i <= 50; i += 1) {
      await test.engine.startWorkflow(work, i, { id: String(i) })
      await test.engine.startWorkflow(work, i)
    }
    await test.runUntilIdle()
    expect(await test.engine.stats()).toMatchObject([{ status: 'completed', count: 100 }])
  })

  it('of events: a given id never meets a generated one', async () => {
    const work = defineWorkflow({ name: 'work' }, async ({ step }) => {
      const events: unknown[] = []
      for (let i = 0; i < 6; i += 1) events.push(await step.waitForEvent('n'))
      return events
    })
    const test = await engineFor({ workflows: [work] })
    const { id } = await test.engine.startWorkflow(work, null)
    for (const n of [1, 2, 3]) {
      await test.engine.sendEvent(id, 'n', `given ${n}`, { id: String(n) })
      await test.engine.sendEvent(id, 'n', `given ${n} again`, { id: String(n) })
      await test.engine.sendEvent(id, 'n', `generated ${n}`)
    }
    const expected = [1, 2, 3].flatMap((n) => [`given ${n}`, `generated ${n}`])
    expect(await test.until(test.engine.getHandle(id).result())).toEqual(expected)
  })
})

describe.each(stores)('an id that another workflow’s run has, on %s (B087):', (_, open) => {
  it('is refused in words that name both, and the run that has it goes on after a crash', async () => {
    const store = await open()
    const a = defineWorkflow({ name: 'A' }, ({ step }) => step.waitForEvent('go'))
    const b = defineWorkflow({ name: 'B' }, () => 'B')
    const test = await engineFor({ store, workflows: [a, b], seed: 'first' })
    await test.engine.startWorkflow(a, 1, { id: 'x' })
    await test.runUntilIdle()
    const start = test.engine.startWorkflow(b, 1, { id: 'x' })
    await expect(start).rejects.toMatchObject({ code: 'RUN_CONFLICT', runId: 'x' })
    await expect(start).rejects.toThrow(/"x" belongs to a run of workflow "A"/)
    const sameWorkflow = await test.engine.startWorkflow(a, 2, { id: 'x' })
    expect(sameWorkflow).toMatchObject({ created: false, inputDiffers: true })
    await test.until(test.engine.close())
    const next = await engineFor({ store, workflows: [a, b], time: test.time, seed: 'second' })
    await next.engine.sendEvent('x', 'go', 'went')
    expect(await next.until(next.engine.getHandle('x').result())).toBe('went')
  })

  it('is refused for an id with a key too: the key is not taken by it', async () => {
    const a = defineWorkflow({ name: 'A' }, () => 'A')
    const b = defineWorkflow({ name: 'B' }, () => 'B')
    const test = await engineFor({ store: await open(), workflows: [a, b] })
    await test.run(a, 1, { id: 'x' })
    const start = test.engine.startWorkflow(b, 1, { id: 'x', key: 'k' })
    await expect(start).rejects.toMatchObject({ code: 'RUN_CONFLICT' })
    expect(await test.engine.startWorkflow(b, 1, { key: 'k' })).toMatchObject({ created: true })
  })
})
