import { describe, expect, it } from 'vitest'
import { ClaimLostError, PermanentError } from '../../src/core/errors.ts'
import { retryUnlessPermanent } from '../../src/core/http-error.ts'
import type { RunnerWorkflow } from '../../src/runner/api.ts'
import { freezable } from '../parity/faults.ts'
import { engineFor, gate, mortalEngine, realTurn, stores } from '../parity/runner-kit.ts'
import { runnerFor, runnerOn } from './kit.ts'

const MINUTE = 60_000

describe.each(stores)('the runner on %s:', (_, open) => {
  async function fixture<Output>(
    prepare: RunnerWorkflow<{ id?: unknown }, Output>['prepare'],
    more: Partial<RunnerWorkflow<{ id?: unknown }, Output>> = {},
  ) {
    const made = await runnerFor({ store: await open() })
    const dedupeKey = ({ id }: { id?: unknown }) => id as string
    made.runner.register({ kind: 'sync', dedupeKey, retrySchedule: [5, 10], prepare, ...more })
    return { ...made, engine: made.test.engine }
  }

  it('R4 enqueue gives the id of the work; what it cannot take, it rejects, and adds nothing', async () => {
    const { runner, engine } = await fixture(() => 1)
    for (const id of ['', ' ', undefined, null, 7, {}]) {
      let thrown: unknown = null
      const call = (() => {
        try {
          return runner.enqueue('sync', { id })
        } catch (error) {
          thrown = error
          return Promise.reject(error)
        }
      })()
      await expect(call).rejects.toMatchObject({ code: 'INVALID_NAME' })
      expect(thrown).toBe(null)
    }
    await expect(runner.enqueue('sinc', { id: 'a' })).rejects.toThrow(/"sinc".*"sync"/)
    await expect(runner.enqueue(undefined as never, 1)).rejects.toMatchObject({ code: 'UNKNOWN_WORKFLOW' })
    await expect(runner.enqueue('sync', null as never)).rejects.toThrow(TypeError)
    expect(await engine.stats()).toEqual([])
    const id = await runner.enqueue('sync', { id: 'a' })
    expect(await engine.getRun(id ?? '')).toMatchObject({ workflow: 'sync', key: 'a' })
  })

  it('R5 work that is pending stays due when it was; running or done gives null', async () => {
    const hold = gate()
    const { runner, test, engine } = await fixture(() => hold.opened)
    const first = await runner.enqueue('sync', { id: 'a' }, { delay: '1h' })
    const due = test.time.now + 60 * MINUTE
    expect(await runner.enqueue('sync', { id: 'a' })).toBe(first)
    expect(await engine.getRun(first ?? '')).toMatchObject({ status: 'pending', dueAt: due })
    const second = await runner.enqueue('sync', { id: 'b' })
    await test.runUntilIdle()
    expect(await engine.getRun(second ?? '')).toMatchObject({ status: 'running' })
    expect(await runner.enqueue('sync', { id: 'b' })).toBe(null)
    hold.open()
    await test.until(engine.getHandle(second ?? '').result())
    expect(await runner.enqueue('sync', { id: 'b' })).toBe(null)
  })

  it('R5 R7 failed attempts follow the minutes of the schedule; abandoned work is revived with its checkpoints', async () => {
    const seen: [number, unknown, number][] = []
    const { runner, test, engine } = await fixture(async (_trigger, checkpoints, save, { attempt }) => {
      seen.push([test.time.now, checkpoints['page'] ?? 0, attempt])
      await save({ page: seen.length })
      throw new Error(`out of paper, page ${seen.length}`)
    })
    const start = test.time.now
    const id = await runner.enqueue('sync', { id: 'a' })
    await test.advance('4h')
    const minutes = seen.map(([at, page, attempt]) => [(at - start) / MINUTE, page, attempt])
    expect(minutes).toEqual([
      [0, 0, 1],
      [5, 1, 2],
      [15, 2, 3],
    ])
    const run = await engine.getRun(id ?? '')
    expect(run?.status).toBe('failed')
    expect(run?.error).toContain('out of paper, page 3')
    expect(await runner.enqueue('sync', { id: 'a' })).toBe(id)
    await test.runUntilIdle()
    expect(seen[3]).toEqual([start + 240 * MINUTE, 3, 1])
  })

  it('R5 cancelled work is started over too', async () => {
    const { runner, test, engine } = await fixture(() => 'done')
    const id = (await runner.enqueue('sync', { id: 'a' }, { delay: '1h' })) ?? ''
    await engine.cancel(id)
    expect(await runner.enqueue('sync', { id: 'a' })).toBe(id)
    expect(await test.until(engine.getHandle(id).result())).toBe('done')
  })

  it('R6 a save is merged, durable when it resolves, and read by the next attempt; R9 the result is kept', async () => {
    const { runner, test, engine } = await fixture(async (_trigger, checkpoints, save) => {
      if (checkpoints['draft'] === undefined) {
        await save({ draft: 'text', 'a.b': { $c: undefined }, empty: {} })
        await realTurn()
        throw new Error('first')
      }
      await save({ tries: 2 })
      return checkpoints
    })
    const id = (await runner.enqueue('sync', { id: 'a' })) ?? ''
    const result = await test.until(engine.getHandle(id).result())
    expect(result).toStrictEqual({ draft: 'text', 'a.b': { $c: undefined }, empty: {} })
    expect(await engine.getHandle(id).status()).toBe('completed')
  })

  it('R6 X41 a save after the claim was lost rejects, stops the work, and leaves no trace', async () => {
    const store = await open()
    const begun = gate()
    const goOn = gate()
    const frozen = freezable(store)
    const first = await engineFor({ store: frozen.store, lease: '10s', seed: 'first' })
    let outcome: unknown = null
    const stale: RunnerWorkflow['prepare'] = async (_trigger, _checkpoints, save) => {
      begun.open()
      await goOn.opened
      await save({ by: 'stale' }).catch((error: unknown) => {
        outcome = error
        throw error
      })
    }
    const kind = { kind: 'sync', dedupeKey: String, retrySchedule: [1, 1] }
    const dying = runnerOn(first).runner
    dying.register({ ...kind, prepare: stale })
    const id = (await dying.enqueue('sync', 'a')) ?? ''
    await begun.opened
    frozen.freeze()
    const { runner, test } = await runnerFor({ store, time: first.time, seed: 'second', lease: '10s' })
    runner.register({ ...kind, prepare: (_trigger, checkpoints) => checkpoints })
    await test.advance('2m')
    expect(await test.until(test.engine.getHandle(id).result())).toEqual({})
    frozen.thaw()
    goOn.open()
    await test.until(untilSo(() => outcome !== null))
    expect(outcome).toBeInstanceOf(ClaimLostError)
    expect(await test.until(test.engine.getHandle(id).result())).toEqual({})
  })

  it('R8 permanent errors, and those that retryIf refuses, abandon at once', async () => {
    const errors = [
      new PermanentError('gone'),
      Object.assign(new Error('gone'), { permanent: true }),
      Object.assign(new Error('gone'), { response: { status: 404 } }),
      Object.assign(new Error('busy'), { response: { status: 503 } }),
    ]
    const prepare: RunnerWorkflow['prepare'] = (n) => {
      throw errors[n as number]
    }
    const { runner, test, engine } = await fixture(prepare as never, {
      retryIf: retryUnlessPermanent,
      dedupeKey: String,
    })
    const ids = await test.until(Promise.all(errors.map((_error, n) => runner.enqueue('sync', n as never))))
    await test.runUntilIdle()
    const attempts = await Promise.all(ids.map(async (id) => (await engine.getRun(id ?? ''))?.attempt))
    expect(attempts).toEqual([1, 1, 1, 3])
    expect((await engine.stats()).map(({ status, count }) => [status, count])).toEqual([['failed', 4]])
  })

  it('R10 work whose worker died is taken over, and the death counts as an attempt', async () => {
    const store = await open()
    const begun = gate()
    const { test: first, die } = await mortalEngine({ store, lease: '10s', seed: 'first' })
    const kind = { kind: 'sync', dedupeKey: String, retrySchedule: [5] }
    const dying = runnerOn(first).runner
    const hangs = () => {
      begun.open()
      return new Promise(() => {})
    }
    dying.register({ ...kind, prepare: hangs })
    const id = (await dying.enqueue('sync', 'a')) ?? ''
    await begun.opened
    die()
    const { runner, test } = await runnerFor({ store, time: first.time, seed: 'second', lease: '10s' })
    runner.register({ ...kind, prepare: (_trigger, _checkpoints, _save, { attempt }) => attempt })
    await test.advance('10m')
    expect(await test.until(test.engine.getHandle(id).result())).toBe(2)
  })

  it('R11 sweep gives the ids of what it freed, of the kinds that were asked for', async () => {
    const store = await open()
    let waiting = 2
    const begun = gate()
    const { test: first, die } = await mortalEngine({ store, lease: '10s', seed: 'first' })
    const dying = runnerOn(first).runner
    const hangs = () => {
      waiting -= 1
      if (waiting === 0) begun.open()
      return new Promise(() => {})
    }
    const kinds = ['sync', 'mail'].map((kind) => ({ kind, dedupeKey: String, retrySchedule: [5] }))
    for (const kind of kinds) dying.register({ ...kind, prepare: hangs })
    const ids = [await dying.enqueue('sync', 1), await dying.enqueue('mail', 1)]
    await begun.opened
    die()
    const { runner, test } = await runnerFor({ store, time: first.time, seed: 'second', work: false })
    for (const kind of kinds) runner.register({ ...kind, prepare: () => 1 })
    expect(await runner.sweep()).toEqual([])
    await test.advance('11s')
    expect(await runner.sweep('mail')).toEqual([ids[1]])
    expect(await runner.sweep()).toEqual([])
    expect(await test.engine.getRun(ids[0] ?? '')).toMatchObject({ status: 'pending', attempt: 2 })
  })

  it('R11 X49 stop waits for what runs, keeps its result, and arms nothing more', async () => {
    const store = await open()
    const begun = gate()
    const finish = gate()
    const { runner, test } = await runnerFor({ store })
    const kind = { dedupeKey: String, prepare: work }
    runner.register({ ...kind, kind: 'deferred', retrySchedule: [1] })
    runner.register({ ...kind, kind: 'fire and forget' })
    let left = 2
    async function work(): Promise<string> {
      left -= 1
      if (left === 0) begun.open()
      await finish.opened
      return 'written'
    }
    const ids = [await runner.enqueue('deferred', 1), await runner.enqueue('fire and forget', 1)]
    await begun.opened
    const stopping = runner.stop({ timeout: '1h' })
    finish.open()
    await test.until(Promise.all([stopping, runner.stop()]))
    const runs = await Promise.all(ids.map((id) => store.getRun(id ?? '')))
    expect(runs.map((run) => [run?.status, run?.output])).toEqual([
      ['completed', '["written"]'],
      ['completed', '["written"]'],
    ])
    await expect(runner.enqueue('deferred', 2)).rejects.toMatchObject({ code: 'ENGINE_CLOSED' })
    await expect(runner.enqueue('fire and forget', 2)).rejects.toMatchObject({ code: 'ENGINE_CLOSED' })
  })

  it('R12 the key expires with the work, a day after its end, or as its kind says', async () => {
    const { runner, test, engine } = await fixture(() => 1)
    runner.register({
      ...{ kind: 'short', dedupeKey: () => 'k', prepare: () => 1 },
      ...{ retrySchedule: [5], retention: '1h' },
    })
    const long = await runner.enqueue('sync', { id: 'a' })
    const short = await runner.enqueue('short', null)
    await test.advance('59m')
    expect([await runner.enqueue('sync', { id: 'a' }), await runner.enqueue('short', null)]).toEqual([
      null,
      null,
    ])
    await test.advance('4m')
    expect(await engine.getRun(short ?? '')).toBe(null)
    expect(await runner.enqueue('short', null)).not.toBe(short)
    await test.advance('25h')
    expect(await engine.getRun(long ?? '')).toBe(null)
    expect(await runner.enqueue('sync', { id: 'a' })).not.toBe(null)
  })

  it.each([
    ['deferred', [1]],
    ['fire-and-forget', undefined],
  ])(
    'does as many pieces of %s work at once as its kind says; what is cancelled in line is not begun',
    async (_, retrySchedule) => {
      const hold = gate()
      const begun: string[] = []
      let inside = 0
      let most = 0
      const { test, runner } = await runnerFor({ store: await open() })
      runner.register({
        kind: 'narrow',
        dedupeKey: (key: string) => key,
        concurrency: 2,
        ...(retrySchedule !== undefined && { retrySchedule }),
        prepare: async (key) => {
          begun.push(key)
          inside += 1
          most = Math.max(most, inside)
          await hold.opened
          inside -= 1
        },
      })
      const keys = ['a', 'b', 'c', 'd', 'e']
      const ids = await test.until(Promise.all(keys.map((key) => runner.enqueue('narrow', key))))
      await test.runUntilIdle()
      const waiting = keys.find((key) => !begun.includes(key)) ?? ''
      await test.engine.cancel(ids[keys.indexOf(waiting)] ?? '')
      await test.runUntilIdle()
      hold.open()
      await test.advance('1m')
      expect(most).toBe(2)
      expect(begun.toSorted()).toEqual(keys.filter((key) => key !== waiting))
      const runs = await Promise.all(ids.map((id) => test.engine.getRun(id ?? '')))
      expect(runs.map((run) => run?.status)).toEqual(
        keys.map((key) => (key === waiting ? 'cancelled' : 'completed')),
      )
    },
  )

  it('X45 a key that is enqueued many times at once is one piece of work', async () => {
    const done: unknown[] = []
    const { runner, test } = await fixture((trigger) => done.push(trigger))
    const ids = await test.until(
      Promise.all(Array.from({ length: 30 }, () => runner.enqueue('sync', { id: 'a' }))),
    )
    await test.runUntilIdle()
    expect(new Set(ids.filter((id) => id !== null)).size).toBe(1)
    expect(done).toHaveLength(1)
  })

  it('X47 the same key with another trigger is told, and the first is kept', async () => {
    const done: unknown[] = []
    const { runner, test, logged } = await fixture((trigger) => done.push(trigger))
    await runner.enqueue('sync', { id: 'a' }, { delay: '1m' })
    await runner.enqueue('sync', { id: 'a' })
    expect(logged).toEqual([])
    await runner.enqueue('sync', { id: 'a', total: 5 } as never)
    expect(logged.join()).toContain('another trigger')
    await test.advance('2m')
    expect(done).toEqual([{ id: 'a' }])
  })
})

async function untilSo(isSo: () => boolean): Promise<void> {
  while (!isSo()) await realTurn()
}
