import { describe, expect, it, vi } from 'vitest'
import * as errors from '../../src/core/errors.ts'
import { defineWorkflow, type WorkflowOptions } from '../../src/engine/define.ts'
import { createEngine } from '../../src/engine/engine.ts'
import type { WorkflowFunction } from '../../src/engine/workflow.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { failing, rejection, testEngine } from './kit.ts'
import { forEachStore } from './stores.ts'

const plain = defineWorkflow({ name: 'plain' }, async ({ input }) => input)

const even = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) =>
      Number(value) % 2 === 0 ? { value: Number(value) } : { issues: [{ message: 'must be even' }] },
  },
}

describe('registration', () => {
  const refused: readonly (readonly [string, unknown, unknown, string])[] = [
    ['no options', undefined, () => 1, 'INVALID_ARGUMENT'],
    ['no name', {}, () => 1, 'INVALID_NAME'],
    ['a blank name', { name: ' ' }, () => 1, 'INVALID_NAME'],
    ['a name that is no text', { name: 7 }, () => 1, 'INVALID_NAME'],
    ['a name of 257 bytes', { name: 'x'.repeat(257) }, () => 1, 'INVALID_NAME'],
    ['no function', { name: 'w' }, undefined, 'INVALID_ARGUMENT'],
    ['a schema that is none', { name: 'w', input: {} }, () => 1, 'INVALID_ARGUMENT'],
    ['a key that is no function', { name: 'w', key: 'id' }, () => 1, 'INVALID_ARGUMENT'],
    ['a timeout that is no duration', { name: 'w', timeout: '1 fortnight' }, () => 1, 'INVALID_DURATION'],
    ['an empty retry schedule', { name: 'w', retry: { schedule: [] } }, () => 1, 'INVALID_ARGUMENT'],
  ]

  it.each(refused)('W1 a definition with %s is refused', (_, options, fn, code) => {
    const define = () =>
      defineWorkflow(options as WorkflowOptions<unknown>, fn as WorkflowFunction<unknown, unknown>)
    expect(define).toThrow(expect.objectContaining({ code }))
  })

  it('W1 one name for two things is refused, and the error names it', () => {
    const twice = () => createEngine({ store: memory(), workflows: [plain, plain] })
    expect(twice).toThrow(errors.DuplicateWorkflowError)
    const both = () => createEngine({ store: memory(), workflows: [plain], functions: { plain: () => 1 } })
    expect(both).toThrow(/"plain"/)
  })

  it('W1 starting an unknown workflow is an error that names it and what is known', async () => {
    const { engine } = await testEngine({ workflows: [plain] })
    const error = await rejection(engine.startWorkflow('nope'))
    expect(error).toBeInstanceOf(errors.UnknownWorkflowError)
    expect(String(error)).toMatch(/"nope".*"plain"/)
    const other = defineWorkflow({ name: 'other' }, () => 1)
    await expect(engine.startWorkflow(other, 1)).rejects.toThrow(errors.UnknownWorkflowError)
  })

  it('W1 a run has its id before its function can fail', async () => {
    const throws = defineWorkflow({ name: 'throws' }, failing(new Error('at once')))
    const test = await testEngine({ workflows: [throws] })
    const handle = await test.engine.startWorkflow(throws, null)
    expect(handle.id).toMatch(/^[0-9a-f-]{36}$/)
    const error = await rejection(test.until(handle.result()))
    expect(error).toMatchObject({ code: 'RUN_FAILED', cause: { message: 'at once' } })
  })

  it('W1 an input that the schema refuses starts nothing', async () => {
    const checked = defineWorkflow({ name: 'checked', input: even }, ({ input }) => input)
    const test = await testEngine({ workflows: [checked] })
    await expect(test.engine.startWorkflow(checked, 3)).rejects.toThrow(errors.InvalidInputError)
    expect((await test.engine.listRuns()).runs).toEqual([])
    expect((await test.run(checked, '4')).output).toBe(4)
  })
})

forEachStore((database) => {
  it('W2 runs are created, read, listed and deleted', async () => {
    const open = database()
    const test = await testEngine({ store: open(), workflows: [plain] })
    const { engine } = test
    expect(await engine.getRun('nobody')).toBeNull()
    const handle = await engine.startWorkflow(plain, { a: 1 }, { id: 'run-1', key: 'key-1', tags: ['x'] })
    expect(handle).toMatchObject({ id: 'run-1', created: true })
    expect(await test.until(handle.result())).toEqual({ a: 1 })
    expect(await handle.status()).toBe('completed')
    expect(await engine.getRun('run-1')).toMatchObject({
      workflow: 'plain',
      key: 'key-1',
      tags: ['x'],
      error: null,
    })
    const filters = [
      { key: 'key-1' },
      { tag: 'x' },
      { workflow: 'plain' },
      { status: ['completed' as const] },
    ]
    for (const filter of filters) {
      expect((await engine.listRuns(filter)).runs.map(({ id }) => id)).toEqual(['run-1'])
    }
    expect((await engine.listRuns({ status: ['failed'] })).runs).toEqual([])
    await engine.deleteRun('run-1')
    expect(await engine.getRun('run-1')).toBeNull()
    await expect(handle.status()).rejects.toThrow(errors.RunNotFoundError)
    await expect(test.until(handle.result())).rejects.toThrow(errors.RunNotFoundError)
    expect((await test.engine.startWorkflow(plain, 2, { key: 'key-1' })).created).toBe(true)
  })

  it('W2 a failed run keeps its error, and a run that goes on cannot be deleted', async () => {
    const waits = defineWorkflow({ name: 'waits' }, ({ step }) => step.waitForEvent('go'))
    const fails = defineWorkflow({ name: 'fails' }, failing(new RangeError('too far')))
    const test = await testEngine({ store: database()(), workflows: [waits, fails] })
    expect(await test.run(fails, null)).toMatchObject({ status: 'failed', error: { message: 'too far' } })
    const { handle } = await test.run(waits, null)
    await expect(test.engine.deleteRun(handle.id)).rejects.toThrow(errors.RunStateError)
    expect(await handle.status()).toBe('waiting')
    const counts = await test.engine.stats()
    expect(counts.map(({ workflow, status, count }) => [workflow, status, count]).sort()).toEqual([
      ['fails', 'failed', 1],
      ['waits', 'waiting', 1],
    ])
  })
})

describe('error classes', () => {
  const classes = Object.entries(errors).filter(
    ([name]) => /^[A-Z].*Error$/.test(name) && name !== 'PerdureError',
  )

  it.each(classes)('W13 %s can be told by class and by code', (name, Class) => {
    const make = Class as new (...args: unknown[]) => errors.PerdureError
    const error = name === 'StoreError' ? new make('full', 'm') : new make('m', 'x', 'y')
    expect(error).toBeInstanceOf(errors.PerdureError)
    expect(error).toBeInstanceOf(Error)
    expect(error.name).toBe(name)
    expect(error.code).toMatch(/^[A-Z][A-Z_]+$/)
  })

  it('W13 no two classes share a code', () => {
    const codes = classes.map(
      ([, Class]) => new (Class as new (...args: unknown[]) => errors.PerdureError)('x', 'y').code,
    )
    expect(new Set(codes).size).toBe(codes.length)
  })

  it('W13 an error of a second copy of the package is told by its brand', async () => {
    vi.resetModules()
    const copy = await import('../../src/core/errors.ts')
    const error = new copy.RunNotFoundError('x')
    expect(error).not.toBeInstanceOf(errors.PerdureError)
    expect(errors.isPerdureError(error)).toBe(true)
    expect(error.code).toBe('RUN_NOT_FOUND')
  })

  it('W13 each wrong call is refused with its own class', async () => {
    const test = await testEngine({ workflows: [plain] })
    const { engine } = test
    const { handle } = await test.run(plain, 1, { key: 'k' })
    const cases: readonly (readonly [Promise<unknown>, unknown])[] = [
      [engine.startWorkflow('nope'), errors.UnknownWorkflowError],
      [engine.startWorkflow(plain, 1, { key: '' }), errors.InvalidNameError],
      [engine.startWorkflow(plain, 1, { delay: 'soon' }), errors.InvalidDurationError],
      [engine.startWorkflow(plain, 1, { priority: 0.5 }), errors.InvalidArgumentError],
      [engine.startWorkflow(plain, () => 1), errors.UnserializableValueError],
      [engine.startWorkflow(plain, 'x'.repeat(2 ** 21)), errors.ValueTooLargeError],
      [engine.startWorkflow(plain, 1, { key: 'k', onConflict: 'reject' }), errors.RunConflictError],
      [engine.sendEvent('none', 'e'), errors.RunNotFoundError],
      [engine.sendEvent(handle.id, 'e'), errors.RunStateError],
      [engine.revive(handle.id), errors.RunStateError],
      [engine.getHandle('none').status(), errors.RunNotFoundError],
    ]
    for (const [call, Class] of cases) expect(await rejection(call)).toBeInstanceOf(Class)
  })
})
