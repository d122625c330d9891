import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { WorkflowContext } from '../../src/engine/workflow.ts'
import { stores } from '../parity/runner-kit.ts'
import { contents, engineFor } from './fixture.ts'

const MAX = 1000
/** Encoded it has four bytes more. */
const largest = 'x'.repeat(MAX - 4)
const tooLarge = `${largest}x`

const work = defineWorkflow({ name: 'work' }, ({ input }) => input)

/** Values that cannot be stored, and the path to the part that cannot. */
const unstorable: readonly (readonly [string, unknown, RegExp])[] = [
  ['a function', { a: { b: [1, () => 1] } }, /\.a\.b\[1\] is a function/],
  ['a symbol', { s: Symbol('s') }, /\.s is a symbol/],
  ['a promise', { list: [Promise.resolve(1)] }, /\.list\[0\] is a promise/],
  ['an instance of a class', { user: new (class User {})() }, /\.user is an instance of User/],
  ['a class of its own', new (class Money {})(), /an instance of Money/],
  [
    'a getter that throws',
    {
      get boom() {
        throw new Error('no')
      },
    },
    /\.boom is unreadable/,
  ],
  ['a WeakMap', { cache: new WeakMap() }, /\.cache is/],
]

describe.each(stores)('a value that is too large, on %s, is refused', (_, open) => {
  it('as an input: nothing is started', async () => {
    const test = await engineFor({ store: await open(), workflows: [work], maxValueBytes: MAX })
    const start = test.engine.startWorkflow(work, tooLarge)
    await expect(start).rejects.toMatchObject({ code: 'VALUE_TOO_LARGE' })
    await expect(start).rejects.toThrow(/input of "work" has 1001 bytes .* 1000 .* maxValueBytes/)
    expect(await contents(test.store)).toEqual([])
    expect((await test.run(work, largest)).output).toBe(largest)
  })

  it('as a payload: nothing is delivered', async () => {
    const waits = defineWorkflow({ name: 'waits' }, ({ step }) => step.waitForEvent('go'))
    const test = await engineFor({ store: await open(), workflows: [waits], maxValueBytes: MAX })
    const { id } = await test.engine.startWorkflow(waits, null)
    await test.runUntilIdle()
    const before = await contents(test.store)
    await expect(test.engine.sendEvent(id, 'go', tooLarge)).rejects.toMatchObject({ code: 'VALUE_TOO_LARGE' })
    expect(await contents(test.store)).toEqual(before)
  })

  it('as a step’s result: the step has failed, and its result is not kept', async () => {
    expect(await inside(open, ({ step }) => step.do('make', () => tooLarge))).toEqual([
      'VALUE_TOO_LARGE',
      [{ name: 'make', status: 'failed' }],
    ])
  })

  it('as a checkpoint: nothing of the patch is kept', async () => {
    const save = ({ run }: WorkflowContext) => run.save({ small: 1, large: tooLarge })
    expect(await inside(open, save)).toEqual(['VALUE_TOO_LARGE', []])
  })

  it('as the data of a function, or the input of a child: neither is started', async () => {
    const call = ({ step }: WorkflowContext) => step.do('call', 'send', tooLarge)
    expect(await inside(open, call)).toEqual(['VALUE_TOO_LARGE', []])
    const child = ({ step }: WorkflowContext) => step.do('child', work, tooLarge)
    expect(await inside(open, child)).toEqual(['VALUE_TOO_LARGE', []])
  })

  it('as an output: the run fails, and says so', async () => {
    const makes = defineWorkflow({ name: 'makes' }, () => tooLarge)
    const test = await engineFor({ store: await open(), workflows: [makes], maxValueBytes: MAX })
    const { status, error } = await test.run(makes, null)
    expect(status).toBe('failed')
    expect(error).toMatchObject({ code: 'VALUE_TOO_LARGE', message: expect.stringContaining('output of') })
  })
})

describe.each(unstorable)('what cannot be stored: %s', (_, value, path) => {
  it('is refused as an input, with the path to it, and nothing is started', async () => {
    const test = await engineFor({ workflows: [work] })
    const start = test.engine.startWorkflow(work, value)
    await expect(start).rejects.toMatchObject({ code: 'UNSERIALIZABLE_VALUE' })
    await expect(start).rejects.toThrow(path)
    expect(await contents(test.store)).toEqual([])
  })

  it('fails a step that returns it, with the path to it', async () => {
    const makes = defineWorkflow({ name: 'makes' }, ({ step }) => step.do('make', () => value))
    const test = await engineFor({ workflows: [makes] })
    const { error } = await test.run(makes, null)
    expect(error).toMatchObject({ code: 'UNSERIALIZABLE_VALUE', message: expect.stringMatching(path) })
  })

  it('is refused as an event’s payload, as a checkpoint and as an output', async () => {
    const makes = defineWorkflow({ name: 'makes' }, async ({ run, step }) => {
      await step.waitForEvent('go')
      return await run.save({ value }).then(
        () => 'saved',
        () => value,
      )
    })
    const test = await engineFor({ workflows: [makes] })
    const { handle } = await test.run(makes, null)
    const send = test.engine.sendEvent(handle.id, 'go', value)
    await expect(send).rejects.toMatchObject({ code: 'UNSERIALIZABLE_VALUE' })
    await test.engine.sendEvent(handle.id, 'go')
    await test.runUntilIdle()
    expect((await handle.get()).error).toContain('UNSERIALIZABLE_VALUE')
  })
})

/** What a function can catch, and what the journal holds then. */
async function inside(
  open: (typeof stores)[number][1],
  call: (context: WorkflowContext) => Promise<unknown>,
) {
  const tries = defineWorkflow({ name: 'tries' }, (context) =>
    call(context).then(
      () => 'accepted',
      (error: { code: string }) => error.code,
    ),
  )
  const options = { store: await open(), workflows: [tries, work], functions: { send: () => 1 } }
  const test = await engineFor({ ...options, maxValueBytes: MAX })
  const { output, handle } = await test.run(tries, null)
  const { entries } = await handle.history()
  expect((await test.engine.listRuns()).runs).toHaveLength(1)
  return [output, entries.map(({ name, status }) => ({ name, status }))]
}
