import { describe, expect, it } from 'vitest'
import type { RetryOptions } from '../../src/core/retry.ts'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { Step, StepContext } from '../../src/engine/workflow.ts'
import { MemoryData, memory } from '../../src/stores/memory/index.ts'
import type { TestEngine } from '../../src/testing/test-engine.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { called, failing, mortalEngine, testEngine } from './kit.ts'

describe('steps', () => {
  it('W3 an inline step runs once, however often the function is replayed', async () => {
    let calls = 0
    let bodies = 0
    const once = defineWorkflow({ name: 'once' }, async ({ step }) => {
      calls += 1
      const first = await step.do('first', () => ++bodies)
      await step.sleep('a', '1h')
      await step.sleep('b', '1h')
      return [first, await step.do('second', () => ++bodies)]
    })
    const test = await testEngine({ workflows: [once], hotRuns: 0 })
    expect((await test.run(once, null)).output).toEqual([1, 2])
    expect([calls, bodies]).toEqual([3, 2])
  })

  it('W3 another process takes over what an inline step returned', async () => {
    const [time, data] = [new VirtualTime(), new MemoryData()]
    let bodies = 0
    const once = defineWorkflow({ name: 'once' }, async ({ step }) => {
      const first = await step.do('first', () => ++bodies)
      await step.sleep('a', '1h')
      return first
    })
    const first = await mortalEngine({ workflows: [once], time, store: memory({ data }) })
    const { id } = await first.engine.startWorkflow(once, null)
    await first.advance('1m')
    await first.close()
    const second = await testEngine({ workflows: [once], time, store: memory({ data }) })
    expect(await second.until(second.engine.getHandle(id).result())).toBe(1)
    expect(bodies).toBe(1)
  })

  it('W4 a registered function is executed by a worker that has it, and told who calls', async () => {
    const [time, data] = [new VirtualTime(), new MemoryData()]
    const seen: StepContext[] = []
    const functions = {
      ship: (order: string, context: StepContext) => {
        seen.push(context)
        if (context.attempt === 1) throw new Error('the first attempt')
        return `shipped ${order}`
      },
    }
    const caller = defineWorkflow({ name: 'caller' }, async ({ step }) => {
      return await step.do('label', 'ship', 'o-1', { retries: 1, retryDelay: '1s' })
    })
    const front = await testEngine({ workflows: [caller], time, store: memory({ data }), seed: 'front' })
    const { handle, status } = await front.run(caller, null)
    expect([status, front.bodies]).toEqual(['waiting', []])
    const back = await testEngine({ functions, time, store: memory({ data }), seed: 'back' })
    await back.runUntilIdle()
    expect(await front.until(handle.result())).toBe('shipped o-1')
    const { id: runId } = handle
    const identity = { runId, stepId: 'label', idempotencyKey: `${runId}:label` }
    expect(seen).toMatchObject([
      { ...identity, attempt: 1 },
      { ...identity, attempt: 2 },
    ])
    expect(front.bodies).toEqual([])
  })

  it('W5 a child run has an input, an output, a parent and options of its own', async () => {
    const child = defineWorkflow({ name: 'child' }, async ({ input, run, step }) => {
      await step.sleep('pause', '1h')
      return { input, parentId: run.parentId, tags: run.tags }
    })
    const parent = defineWorkflow({ name: 'parent' }, async ({ step }) => {
      return await step.do('the child', child, { n: 1 }, { queue: 'lane', priority: 5, tags: ['born'] })
    })
    const test = await testEngine({ workflows: [parent, child] })
    const { output, handle } = await test.run(parent, null)
    expect(output).toEqual({ input: { n: 1 }, parentId: handle.id, tags: ['born'] })
    const { runs } = await test.engine.listRuns({ parentId: handle.id })
    expect(runs).toMatchObject([{ workflow: 'child', queue: 'lane', priority: 5, status: 'completed' }])
  })

  it('W5 a child that takes longer than its timeout fails, and its parent knows', async () => {
    const child = defineWorkflow({ name: 'child' }, ({ step }) => step.sleep('long', '1 day'))
    const parent = defineWorkflow({ name: 'parent' }, async ({ step }) => {
      return await step.do('c', child, null, { timeout: '1h' }).catch((error: { code: string }) => error.code)
    })
    const test = await testEngine({ workflows: [parent, child] })
    expect((await test.run(parent, null)).output).toBe('RUN_TIMEOUT')
  })
})

/** What fails, by each kind of step; notes when it is attempted. */
type Kind = 'inline step' | 'registered function' | 'child run'
const kinds: readonly Kind[] = ['inline step', 'registered function', 'child run']

async function attempts(kind: Kind, options: RetryOptions, stepRetry?: RetryOptions): Promise<number[]> {
  const times: number[] = []
  const attempt = (): never => {
    times.push(test.time.now)
    throw new Error(`attempt ${times.length}`)
  }
  const child = defineWorkflow({ name: 'failing child' }, attempt)
  const ways: Readonly<Record<Kind, (step: Step) => Promise<unknown>>> = {
    'inline step': (step) => step.do('bad', attempt, options),
    'registered function': (step) => step.do('bad', 'attempt', null, options),
    'child run': (step) => step.do('bad', child, null, options),
  }
  const parent = defineWorkflow({ name: 'parent' }, ({ step }) => ways[kind](step))
  const engineWide = stepRetry === undefined ? {} : { stepRetry }
  const test: TestEngine = await testEngine({
    workflows: [parent, child],
    functions: { attempt },
    ...engineWide,
  })
  const { status, error } = await test.run(parent, null)
  expect([status, String(error)]).toEqual(['failed', `Error: attempt ${times.length}`])
  return times
}

function gaps(times: readonly number[]): number[] {
  return times.slice(1).map((time, index) => time - (times[index] ?? 0))
}

describe.each(kinds)('the retries of an %s', (kind) => {
  it('W6 wait a number of ms', async () => {
    expect(gaps(await attempts(kind, { retries: 2, retryDelay: 1500 }))).toEqual([1500, 1500])
  })

  it('W6 wait a duration in words', async () => {
    expect(gaps(await attempts(kind, { retries: 2, retryDelay: '1h 30m' }))).toEqual([5_400_000, 5_400_000])
  })

  it('W6 wait longer and longer', async () => {
    const delays = gaps(await attempts(kind, { retries: 5, retryDelay: 'exponential' }))
    expect(delays).toHaveLength(5)
    for (const [index, delay] of delays.entries()) {
      expect(delay).toBeLessThanOrEqual(1000 * 2 ** index)
      expect(delay).toBeGreaterThanOrEqual(900 * 2 ** index)
    }
  })

  it('W6 follow a schedule', async () => {
    expect(gaps(await attempts(kind, { retrySchedule: ['5m', '1s'] }))).toEqual([300_000, 1000])
  })

  it('W6 are none unless asked for', async () => {
    expect(await attempts(kind, {})).toHaveLength(1)
  })

  it('X12 wait one second if they say 1s', async () => {
    expect(gaps(await attempts(kind, { retries: 3, retryDelay: '1s' }))).toEqual([1000, 1000, 1000])
  })

  it.each([0, 1, 2, 5])('B056 are %i: one attempt more in all', async (retries) => {
    expect(await attempts(kind, { retries, retryDelay: 0 })).toHaveLength(retries + 1)
  })
})

describe('the defaults of an engine', () => {
  it.each(['inline step', 'registered function'] as const)(
    'W6 apply to an %s that says nothing',
    async (kind) => {
      const defaults = { retries: 2, retryDelay: '7s' }
      expect(gaps(await attempts(kind, {}, defaults))).toEqual([7000, 7000])
      expect(gaps(await attempts(kind, { retryDelay: '1s' }, defaults))).toEqual([1000, 1000])
      expect(gaps(await attempts(kind, { retries: 1 }, defaults))).toEqual([7000])
      expect(await attempts(kind, { retries: 0 }, defaults)).toHaveLength(1)
    },
  )
})

describe('the history of a run', () => {
  it.each(['inline', 'function'] as const)(
    'W7 shows each attempt of an %s step, oldest first',
    async (kind) => {
      const flaky = (_data: unknown, { attempt }: StepContext): string => {
        if (attempt < 4) throw new TypeError(`attempt ${attempt}`)
        return 'at last'
      }
      const retry = { retries: 3, retryDelay: '1m' }
      const workflow = defineWorkflow({ name: 'w' }, ({ step }) => {
        return kind === 'inline'
          ? step.do('flaky', (context) => flaky(null, context), retry)
          : step.do('flaky', 'flaky', null, retry)
      })
      const test = await testEngine({ workflows: [workflow], functions: { flaky } })
      const begun = test.time.now
      const { handle } = await test.run(workflow, null)
      const { entries, run } = await handle.history()
      expect(run.status).toBe('completed')
      expect(entries).toMatchObject([{ name: 'flaky', status: 'succeeded', result: 'at last' }])
      const attempts = entries[0]?.attempts ?? []
      expect(attempts.map(({ attempt, startedAt }) => [attempt, startedAt - begun])).toEqual([
        [1, 0],
        [2, 60_000],
        [3, 120_000],
      ])
      expect(attempts.map(({ error }) => String(error))).toEqual(
        [1, 2, 3].map((attempt) => `TypeError: attempt ${attempt}`),
      )
      expect(attempts.every(({ error }) => error instanceof TypeError)).toBe(true)
    },
  )

  it('W7 keeps the last error and the newest attempts of a step that failed for good', async () => {
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      await step.do('bad', failing(new Error('no')), { retries: 30, retryDelay: 0 })
    })
    const test = await testEngine({ workflows: [workflow] })
    const { handle } = await test.run(workflow, null)
    const [entry] = (await handle.history()).entries
    expect(called(test)).toHaveLength(31)
    expect(entry).toMatchObject({ status: 'failed', error: { message: 'no' } })
    expect(entry?.attempts.map(({ attempt }) => attempt)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 12),
    )
  })
})
