import { describe, expect, it } from 'vitest'
import { createEngine } from '../../src/engine/engine.ts'
import { createQueueAdapter } from '../../src/queues/registry.ts'
import type { RunnerWorkflow } from '../../src/runner/api.ts'
import { WorkflowRunner } from '../../src/runner/runner.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'
import { gate, mortalEngine, stores } from '../parity/runner-kit.ts'
import { runnerFor, runnerOn } from './kit.ts'

const kind = (more: Partial<RunnerWorkflow> = {}): RunnerWorkflow => ({
  kind: 'sync',
  dedupeKey: () => 'k',
  prepare: () => 'done',
  retrySchedule: [1],
  ...more,
})

describe('R1 register', () => {
  it('gives back the kind that it was given', async () => {
    const { runner } = await runnerFor({ store: memory() })
    const given = kind()
    expect(runner.register(given)).toBe(given)
  })

  it.each<[string, Partial<RunnerWorkflow>]>([
    ['dedupeKey is a function', { dedupeKey: 'id' as never }],
    ['prepare is a function', { prepare: null as never }],
    ['retryIf is a function', { retryIf: true as never }],
    ['at least one number', { retrySchedule: [] }],
    ['at least one number', { retrySchedule: 5 as never }],
    ['minutes, finite and above 0', { retrySchedule: [5, Number.NaN] }],
    ['minutes, finite and above 0', { retrySchedule: [Number.POSITIVE_INFINITY] }],
    ['minutes, finite and above 0', { retrySchedule: [0] }],
    ['minutes, finite and above 0', { retrySchedule: [-1] }],
    ['minutes, finite and above 0', { retrySchedule: ['5' as never] }],
    ['minutes, finite and above 0', { retrySchedule: new Array(2) as never }],
    ['after the retention of 1440 minutes', { retrySchedule: [1, 1440] }],
    ['after the retention of 10 minutes', { retrySchedule: [10], retention: '10m' }],
    ['"soon"', { retention: 'soon' }],
    ['from 0 to 1', { jitter: 2 }],
  ])('refuses, naming the kind: %s', async (message, odd) => {
    const { runner } = await runnerFor({ store: memory() })
    expect(() => runner.register(kind(odd))).toThrow(message)
    expect(() => runner.register(kind(odd))).toThrow(/"sync"/)
    await expect(runner.enqueue('sync', 1)).rejects.toMatchObject({ code: 'UNKNOWN_WORKFLOW' })
    runner.register(kind())
  })

  it.each([undefined, null, '', ' ', 7, {}])('refuses the kind %j', async (name) => {
    const { runner } = await runnerFor({ store: memory() })
    expect(() => runner.register(kind({ kind: name as never }))).toThrow(/kind/)
  })

  it('refuses a kind that is registered, deferred or not', async () => {
    const { runner } = await runnerFor({ store: memory() })
    runner.register(kind())
    const { retrySchedule: _, ...fireAndForget } = kind({ kind: 'mail' })
    runner.register(fireAndForget)
    expect(() => runner.register(kind())).toThrow(/"sync" is registered already/)
    expect(() => runner.register(fireAndForget)).toThrow(/"mail" is registered already/)
    expect(() => runner.register(kind({ kind: 'mail' }))).toThrow(/"mail" is registered already/)
  })

  it('refuses options that cannot be used', () => {
    const engine = createEngine({ store: memory() })
    expect(() => new WorkflowRunner({} as never)).toThrow(/needs an engine/)
    expect(() => new WorkflowRunner({ engine, queueAdapter: {} as never })).toThrow(/queueAdapter/)
    expect(() => new WorkflowRunner({ engine, sweepIntervalMs: 0 })).toThrow(/sweepIntervalMs/)
  })
})

describe.each(stores)('R2 a kind with a retry schedule, on %s:', (_, open) => {
  it('goes on, once registered, with what a process left that died', async () => {
    const store = await open()
    const begun = gate()
    const { test: first, die } = await mortalEngine({ store, lease: '10s', seed: 'first' })
    const dying = runnerOn(first).runner
    const hangs = () => {
      begun.open()
      return new Promise<never>(() => {})
    }
    dying.register({ ...kind(), dedupeKey: String, prepare: hangs })
    const running = await dying.enqueue('sync', 'running')
    await begun.opened
    const pending = await dying.enqueue('sync', 'pending', { delay: '1s' })
    die()
    const { runner, test } = await runnerFor({ store, time: first.time, seed: 'second', lease: '10s' })
    const done: unknown[] = []
    runner.register({ ...kind(), prepare: (trigger) => done.push(trigger) })
    await test.advance('2m')
    expect(done.sort()).toEqual(['pending', 'running'])
    expect(await test.engine.getRun(running ?? '')).toMatchObject({ status: 'completed', attempt: 2 })
    expect(await test.engine.getRun(pending ?? '')).toMatchObject({ status: 'completed', attempt: 1 })
  })

  it('logs a sweep that fails, and sweeps again later', async () => {
    const shared = await open()
    let failures = 0
    let sweeps = 0
    const store = wrapStore(shared, async (method, call) => {
      if (method !== 'reap') return await call()
      sweeps += 1
      if (sweeps > 3) return await call()
      failures += 1
      throw new Error('no sweep today')
    })
    const { runner, test, logged } = await runnerFor({ store, work: false, lease: '10s' })
    runner.register(kind())
    await test.advance('5m')
    expect(failures).toBe(3)
    expect(sweeps).toBeGreaterThanOrEqual(5)
    expect(logged.filter((line) => line.includes('no sweep today'))).toHaveLength(3)
  })
})

describe.each(stores)('R3 a kind without a retry schedule, on %s:', (_, open) => {
  it('is done through the store by default, once per key, and its result can be had', async () => {
    const { runner, test } = await runnerFor({ store: await open() })
    const done: unknown[] = []
    const mail = runner.register<{ to: string }, number>({
      kind: 'mail',
      dedupeKey: ({ to }) => to,
      prepare: ({ to }, checkpoints) => done.push([to, checkpoints]),
    })
    const ids = await test.until(
      Promise.all(['ada', 'ada', 'bob'].map((to) => runner.enqueue(mail.kind, { to }))),
    )
    await test.runUntilIdle()
    expect(done).toEqual([
      ['ada', {}],
      ['bob', {}],
    ])
    expect(await test.until(test.engine.getHandle(ids[0] ?? '').result())).toBe(1)
    expect(await runner.enqueue('mail', { to: 'ada' })).toBe(null)
  })

  it('has one attempt and no checkpoints: save says so', async () => {
    const { runner, test } = await runnerFor({ store: await open() })
    const attempts: number[] = []
    runner.register({
      kind: 'mail',
      dedupeKey: () => 'k',
      prepare: async (_trigger, _checkpoints, save, { attempt }) => {
        attempts.push(attempt)
        await save({ page: 1 })
      },
    })
    const id = await runner.enqueue('mail', null)
    await test.runUntilIdle()
    await expect(test.until(test.engine.getHandle(id ?? '').result())).rejects.toThrow(/retrySchedule/)
    expect(attempts).toEqual([1])
    expect(await runner.enqueue('mail', null)).toBe(id)
  })

  it('does not take the place of another kind whose name and key join to the same', async () => {
    const { runner, test } = await runnerFor({ store: await open() })
    const done: string[] = []
    for (const name of ['a', 'a-b']) {
      runner.register({ kind: name, dedupeKey: String, prepare: (key) => done.push(`${name} ${key}`) })
    }
    await test.until(Promise.all([runner.enqueue('a', 'b-c'), runner.enqueue('a-b', 'c')]))
    await test.runUntilIdle()
    expect(done.sort()).toEqual(['a b-c', 'a-b c'])
  })
})

describe('R3 a queue adapter', () => {
  it('that cannot process a kind unregisters it, so that it can be registered again', async () => {
    const local = createQueueAdapter('local')
    let broken = true
    const queueAdapter = Object.assign(Object.create(local), {
      process: async (...args: Parameters<typeof local.process>) => {
        if (broken) throw new Error('no connection')
        await local.process(...args)
      },
      enqueue: local.enqueue.bind(local),
      waitForResult: local.waitForResult.bind(local),
      shutdown: local.shutdown.bind(local),
    })
    const { runner, logged } = await runnerFor({ store: memory(), queueAdapter })
    const mail = { kind: 'mail', dedupeKey: String, prepare: (to: unknown) => `sent to ${to}` }
    runner.register(mail)
    await expect(runner.enqueue('mail', 'ada')).rejects.toThrow('no connection')
    expect(logged.join()).toContain('unregistered {"kind":"mail"')
    await expect(runner.enqueue('mail', 'ada')).rejects.toMatchObject({ code: 'UNKNOWN_WORKFLOW' })
    broken = false
    runner.register(mail)
    const id = await runner.enqueue('mail', 'ada')
    expect(await queueAdapter.waitForResult(id)).toBe('sent to ada')
  })
})
