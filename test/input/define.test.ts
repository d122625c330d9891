import { describe, expect, it } from 'vitest'
import { DuplicateWorkflowError } from '../../src/core/errors.ts'
import type { EngineOptions } from '../../src/engine/api.ts'
import { defineWorkflow, type WorkflowOptions } from '../../src/engine/define.ts'
import { createEngine } from '../../src/engine/engine.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { badCounts, badDurations, badNames, refusal, untyped } from './fixture.ts'

const fn = () => 1

function define(options: unknown): () => unknown {
  return () => defineWorkflow(untyped<WorkflowOptions<unknown>>(options), fn)
}

describe('defineWorkflow refuses', () => {
  it.each(badNames)('a name, version or queue that is %s', async (_, name) => {
    expect(await refusal(define({ name }))).toBe('INVALID_NAME')
    expect(await refusal(define({ name: 'a', version: name }))).toBe('INVALID_NAME')
    expect(await refusal(define({ name: 'a', queue: name }))).toBe('INVALID_NAME')
  })

  it.each(badDurations)('a timeout, retention or retry delay that is %s', async (_, duration) => {
    expect(await refusal(define({ name: 'a', timeout: duration }))).toBe('INVALID_DURATION')
    expect(await refusal(define({ name: 'a', retention: duration }))).toBe('INVALID_DURATION')
    expect(await refusal(define({ name: 'a', retry: { schedule: [duration] } }))).toBe('INVALID_DURATION')
  })

  const others: readonly (readonly [string, unknown])[] = [
    ['no options', undefined],
    ['null', null],
    ['a name in place of options', 'order'],
    ['a key that is no function', { name: 'a', key: 'id' }],
    ['an input that is no schema', { name: 'a', input: { type: 'object' } }],
    ['an input that is null', { name: 'a', input: null }],
    ['an empty retry schedule', { name: 'a', retry: { schedule: [] } }],
    ['a retry schedule that is no list', { name: 'a', retry: { schedule: '5m' } }],
    ['a schedule beside retries', { name: 'a', retry: { schedule: ['5m'], retries: 1 } }],
    ['retries that are negative', { name: 'a', retry: { retries: -1 } }],
    ['retries that are no number', { name: 'a', retry: { retries: '3' } }],
    ['a retry delay without retries', { name: 'a', retry: { retryDelay: '1s' } }],
    ['a retry that is null', { name: 'a', retry: null }],
    ['a retry that is a number', { name: 'a', retry: 3 }],
  ]
  it.each(others)('%s', async (_, options) => {
    expect(await refusal(define(options))).toBe('INVALID_ARGUMENT')
  })

  it.each([undefined, null, 'fn', {}])('a function that is %j', async (notOne) => {
    const call = () => defineWorkflow({ name: 'a' }, untyped<() => void>(notOne))
    expect(await refusal(call)).toBe('INVALID_ARGUMENT')
  })
})

function create(options: unknown): () => unknown {
  return () => createEngine(untyped<EngineOptions>({ store: memory(), ...(options as object) }))
}

describe('createEngine refuses', () => {
  it.each(badDurations)('a duration that is %s', async (_, duration) => {
    for (const option of ['retention', 'pollInterval', 'lease', 'abortGrace']) {
      if (duration === null) continue
      expect([option, await refusal(create({ [option]: duration }))]).toEqual([option, 'INVALID_DURATION'])
    }
  })

  it.each(badCounts)('a limit that is %s', async (what, count) => {
    for (const option of ['maxValueBytes', 'maxJournalEntries', 'maxDeaths', 'hotRuns']) {
      if (count === null || (option === 'hotRuns' && what === 'zero')) continue
      expect([option, await refusal(create({ [option]: count }))]).toEqual([option, 'INVALID_ARGUMENT'])
    }
  })

  it.each(badNames)('a function whose name is %s', async (_, name) => {
    if (typeof name !== 'string') return
    expect(await refusal(create({ functions: { [name]: fn } }))).toBe('INVALID_NAME')
  })

  const others: readonly (readonly [string, unknown])[] = [
    ['no store', { store: undefined }],
    ['a store that is none', { store: {} }],
    ['the path of a store', { store: 'work.db' }],
    ['a workflow that is a plain function', { workflows: [fn] }],
    ['a workflow that is null', { workflows: [null] }],
    ['workflows that are no list', { workflows: defineWorkflow({ name: 'a' }, fn) }],
    ['a function that is none', { functions: { send: 'send' } }],
    ['retries of steps that are negative', { stepRetry: { retries: -1 } }],
  ]
  it.each(others)('%s', async (_, options) => {
    expect(await refusal(create(options))).toBe('INVALID_ARGUMENT')
  })

  it.each([undefined, null, 'work.db'])('options that are %j', async (options) => {
    expect(await refusal(() => createEngine(untyped<EngineOptions>(options)))).toBe('INVALID_ARGUMENT')
  })

  it('two workflows of one name and version, and a function of a workflow’s name', () => {
    const [a, b] = [defineWorkflow({ name: 'a' }, fn), defineWorkflow({ name: 'a' }, fn)]
    expect(create({ workflows: [a, b] })).toThrow(DuplicateWorkflowError)
    expect(create({ workflows: [a], functions: { a: fn } })).toThrow(/"a" is registered/)
  })

  it('nothing if names differ only in what other systems join with', () => {
    const names = ['a', 'a:b', 'a/b', 'a.b', 'A', '__proto__', 'constructor']
    expect(create({ workflows: names.map((name) => defineWorkflow({ name }, fn)) })).not.toThrow()
  })
})
