import { describe, expect, it } from 'vitest'
import type { StartOptions } from '../../src/engine/api.ts'
import { defineWorkflow, type WorkflowOptions } from '../../src/engine/define.ts'
import type { Workflow } from '../../src/engine/workflow.ts'
import { badDurations, badNames, contents, engineFor, rejection, untyped } from './fixture.ts'

const work = defineWorkflow({ name: 'work' }, () => 1)

async function starter(workflow: Workflow = work) {
  const test = await engineFor({ workflows: [workflow], functions: { send: () => 1 } })
  await test.run(workflow, { n: 1 }, { id: 'there' })
  return async (options: unknown, target: unknown = workflow, input: unknown = { n: 1 }) => {
    const before = await contents(test.store)
    const start = () =>
      test.engine.startWorkflow(untyped<Workflow>(target), input, untyped<StartOptions>(options))
    const code = await rejection(start)
    await test.runUntilIdle()
    expect(await contents(test.store)).toEqual(before)
    return code
  }
}

describe('startWorkflow rejects, and starts nothing for,', () => {
  it.each(badNames)('an id, key, queue or tag that is %s', async (_, name) => {
    const start = await starter()
    expect(await start({ id: name })).toBe('INVALID_NAME')
    expect(await start({ key: name })).toBe('INVALID_NAME')
    expect(await start({ queue: name })).toBe('INVALID_NAME')
    expect(await start({ tags: ['ok', name] })).toBe('INVALID_NAME')
  })

  it.each(badNames)('a key of the workflow that is %s', async (what, key) => {
    const keyed = defineWorkflow(untyped<WorkflowOptions<unknown>>({ name: 'work', key: () => key }), () => 1)
    const test = await engineFor({ workflows: [keyed] })
    if (what !== 'null')
      expect(await rejection(() => test.engine.startWorkflow(keyed, 1))).toBe('INVALID_NAME')
    expect(await test.engine.stats()).toEqual([])
  })

  it.each(badDurations)('a delay that is %s', async (_, delay) => {
    const start = await starter()
    expect(await start({ delay })).toBe('INVALID_DURATION')
  })

  it.each([Number.NaN, 1.5, 1_000_001, -1_000_001, Number.POSITIVE_INFINITY, '1', null, {}])(
    'the priority %j',
    async (priority) => {
      const start = await starter()
      expect(await start({ priority })).toBe('INVALID_ARGUMENT')
    },
  )

  it.each([null, 7, {}, { name: 7 }])('a workflow that is %j', async (target) => {
    const start = await starter()
    expect(await start({}, target)).toBe('INVALID_ARGUMENT')
  })

  it.each(['', ' ', 'wrok', 'work '])('the unknown name %j, and says which are known', async (name) => {
    const start = await starter()
    expect(await start({}, name)).toBe('UNKNOWN_WORKFLOW')
  })

  it('a workflow that this engine does not have, also as an object', async () => {
    const start = await starter()
    expect(
      await start(
        {},
        defineWorkflow({ name: 'elsewhere' }, () => 1),
      ),
    ).toBe('UNKNOWN_WORKFLOW')
  })

  it('options that are null', async () => {
    const start = await starter()
    expect(await start(null)).toBe('INVALID_ARGUMENT')
  })

  it.each(['retrun', null, true, 1])('onConflict: %j', async (onConflict) => {
    const start = await starter()
    expect(await start({ onConflict })).toBe('INVALID_ARGUMENT')
  })

  it.each(['eu', null, { eu: true }, new Set(['eu'])])('tags that are %j', async (tags) => {
    const start = await starter()
    expect(await start({ tags })).toBe('INVALID_NAME')
  })

  it('more tags than there is room for', async () => {
    const start = await starter()
    expect(await start({ tags: Array.from({ length: 33 }, (_, i) => `tag ${i}`) })).toBe('INVALID_NAME')
  })

  it('what the workflow’s key function throws, as it threw it', async () => {
    const keyed = defineWorkflow({ name: 'work', key: (input: { id: string }) => input.id.trim() }, () => 1)
    const test = await engineFor({ workflows: [keyed] })
    await expect(test.engine.startWorkflow(keyed, untyped<{ id: string }>({}))).rejects.toThrow(TypeError)
    expect(await test.engine.stats()).toEqual([])
  })
})
