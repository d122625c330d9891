import { describe, expect, it, vi } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { systemEnvironment } from '../../src/engine/environment.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { silentLog, VirtualTime } from '../../src/testing/virtual-time.ts'
import { called, codeOf, DAY, failing, MINUTE, mortalEngine, realEngine, SECOND, testEngine } from './kit.ts'
import { memoryDatabase } from './stores.ts'

const sleeps = defineWorkflow({ name: 'sleeps' }, async ({ input, step }) => {
  await step.sleep('long', input as number)
  return 'awake'
})

describe.each([1000, 0])('timers, with %i hot runs', (hotRuns) => {
  it('X15 a sleep of thirty days is neither over at once nor holds a slot', async () => {
    const test = await testEngine({ workflows: [sleeps], hotRuns, work: { concurrency: 1 } })
    const long = await test.engine.startWorkflow(sleeps, 30 * DAY)
    expect((await test.run(sleeps, 5)).output).toBe('awake')
    expect(await long.status()).toBe('waiting')
    await test.advance(29 * DAY)
    expect(await long.status()).toBe('waiting')
    await test.advance(DAY)
    expect(await long.status()).toBe('completed')
  })

  it.each([
    ['365 days', 365 * DAY],
    ['until the year 9999', Date.UTC(9999, 0, 1) - Date.UTC(2030, 0, 1)],
  ])('B042 a sleep of %s ends on time, and not before', async (_, ms) => {
    const test = await testEngine({ workflows: [sleeps], hotRuns })
    const handle = await test.engine.startWorkflow(sleeps, ms)
    await test.advance(ms - 1)
    expect(await handle.status()).toBe('waiting')
    await test.advance(1)
    expect(await handle.status()).toBe('completed')
  })

  it('B044 the first due time of a sleep counts, whatever a replay asks for', async () => {
    let calls = 0
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      calls += 1
      const nap = step.sleep('nap', calls * 10 * MINUTE)
      for (let tick = 0; tick < 4; tick += 1) await step.sleep('tick', '1m')
      await nap
      return step.now()
    })
    const test = await testEngine({ workflows: [workflow], hotRuns })
    const begun = test.time.now
    const { output, handle } = await test.run(workflow, null)
    expect(output).toBe(begun + 10 * MINUTE)
    expect(calls).toBe(hotRuns === 0 ? 6 : 1)
    expect((await handle.history()).entries.filter(({ name }) => name === 'nap')).toHaveLength(1)
  })

  it('B045 a run that is cancelled just before its sleep is over ends once', async () => {
    const test = await testEngine({ workflows: [sleeps], hotRuns })
    const handles = await Promise.all(
      Array.from({ length: 50 }, () => test.engine.startWorkflow(sleeps, MINUTE)),
    )
    await test.advance(MINUTE - 1)
    for (const handle of handles) await handle.cancel()
    await test.advance(DAY / 24)
    for (const handle of handles) expect(await handle.status()).toBe('cancelled')
    expect((await test.run(sleeps, 1)).status).toBe('completed')
  })

  it('B046 pausing and resuming in a backoff neither loses nor doubles an attempt', async () => {
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      await step.do('bad', failing(new Error('no')), { retries: 3, retryDelay: '1m' })
    })
    const test = await testEngine({ workflows: [workflow], hotRuns })
    const handle = await test.engine.startWorkflow(workflow, null)
    await test.advance('30s')
    for (let round = 0; round < 3; round += 1) {
      await handle.pause()
      await handle.resume()
    }
    await test.advance('29s')
    expect(called(test)).toEqual(['bad 1'])
    await test.advance('1s')
    expect(called(test)).toEqual(['bad 1', 'bad 2'])
    await handle.pause()
    await test.advance('1h')
    await handle.resume()
    await test.advance('10m')
    expect([called(test), await handle.status()]).toEqual([['bad 1', 'bad 2', 'bad 3', 'bad 4'], 'failed'])
  })

  it('B050 a timer wins a race against a slower step', async () => {
    const time = new VirtualTime()
    const clock = time.environment()
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      const slow = step.do(
        'slow',
        () => new Promise<string>((resolve) => clock.setTimer(2000, () => resolve('step'))),
      )
      const winner = await Promise.race([slow, step.sleep('short', 200).then(() => 'timer')])
      const at = step.now()
      await step.sleep('so that it is replayed', '1m')
      return [winner, at]
    })
    const test = await testEngine({ workflows: [workflow], hotRuns, time })
    const begun = time.now
    expect((await test.run(workflow, null)).output).toEqual(['timer', begun + 200])
    expect(called(test)).toEqual(['slow 1'])
  })

  it('B054 a step that hangs is given up at its timeout, tried again, and its slot and key are freed', async () => {
    const workflow = defineWorkflow({ name: 'w', retention: '1h' }, ({ step }) => {
      return step.do('hang', ({ attempt }) => (attempt < 3 ? new Promise<string>(() => {}) : 'done'), {
        timeout: '10s',
        retries: 2,
        retryDelay: '1s',
      })
    })
    const test = await testEngine({ workflows: [workflow], hotRuns, work: { concurrency: 1 } })
    const first = await test.engine.startWorkflow(workflow, null, { key: 'k' })
    const second = await test.engine.startWorkflow(workflow, null, { key: 'other' })
    expect(await test.until(first.result())).toBe('done')
    expect(await test.until(second.result())).toBe('done')
    await test.advance('3h')
    const again = await test.engine.startWorkflow(workflow, null, { key: 'k' })
    expect(again.created).toBe(true)
  })
})

describe('timers of the system', () => {
  it('B042 a longer delay than 2³¹ ms does not fire at once', () => {
    vi.useFakeTimers()
    try {
      const fired: number[] = []
      const { setTimer, now } = systemEnvironment(silentLog)
      const begun = now()
      for (const delay of [30 * DAY, Number.MAX_SAFE_INTEGER])
        setTimer(delay, () => fired.push(now() - begun))
      vi.advanceTimersByTime(30 * DAY - 1)
      expect(fired).toEqual([])
      vi.advanceTimersByTime(1)
      vi.advanceTimersByTime(365 * DAY)
      expect(fired).toEqual([30 * DAY])
      expect(vi.getTimerCount()).toBe(1)
    } finally {
      vi.useRealTimers()
    }
  })

  it('X15 a run that sleeps for a month is parked in the store', async () => {
    const warnings: unknown[] = []
    const warn = (warning: unknown): void => void warnings.push(warning)
    process.on('warning', warn)
    const engine = await realEngine({ store: memory(), workflows: [sleeps] }, 1)
    const long = await engine.startWorkflow(sleeps, 30 * DAY)
    const endless = await engine.startWorkflow(sleeps, Number.MAX_SAFE_INTEGER)
    expect(await (await engine.startWorkflow(sleeps, 1)).result({ timeout: '10s' })).toBe('awake')
    const { status, dueAt, createdAt } = await long.get()
    expect(status).toBe('waiting')
    expect((dueAt ?? 0) - createdAt).toBeGreaterThanOrEqual(30 * DAY)
    expect((dueAt ?? 0) - createdAt).toBeLessThan(30 * DAY + MINUTE)
    expect(await endless.status()).toBe('waiting')
    process.off('warning', warn)
    expect(warnings).toEqual([])
  })
})

describe('a worker that is down', () => {
  it.each([1, 5, 600])('B043 for %i s after a sleep fell due wakes the run when it is back', async (late) => {
    const [time, open] = [new VirtualTime(), memoryDatabase()]
    const begun = time.now
    const first = await mortalEngine({ time, store: open(), workflows: [sleeps] })
    const { id } = await first.engine.startWorkflow(sleeps, 2 * SECOND)
    await first.advance('1s')
    await first.close()
    await time.advance(SECOND + late * SECOND)
    const second = await testEngine({ time, store: open(), workflows: [sleeps] })
    await second.advance('1s')
    const run = await second.engine.getRun(id)
    expect(run?.status).toBe('completed')
    expect((run?.endedAt ?? 0) - begun).toBeLessThanOrEqual(3 * SECOND + late * SECOND)
  })
})

describe('durations', () => {
  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY, '', 'soon', '1 fortnight'])(
    'B051 %s is no duration, wherever one is asked for',
    async (bad) => {
      const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
        const calls = [
          () => step.sleep('a', bad),
          () => step.waitForEvent('b', { timeout: bad }),
          () => step.do('c', () => 1, { timeout: bad }),
          () => step.do('d', () => 1, { retries: 1, retryDelay: bad }),
          () => step.do('e', () => 1, { retrySchedule: [bad] }),
          () => step.do('f', 'fn', null, { timeout: bad }),
        ]
        const codes: unknown[] = []
        for (const call of calls) codes.push(await call().catch(codeOf))
        return codes
      })
      const test = await testEngine({ workflows: [workflow], functions: { fn: () => 1 } })
      expect((await test.run(workflow, null)).output).toEqual(
        Array.from({ length: 6 }, () => 'INVALID_DURATION'),
      )
    },
  )
})
