import { describe, expect, it } from 'vitest'
import { isPerdureError } from '../../src/core/errors.ts'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { WorkflowContext } from '../../src/engine/workflow.ts'
import { badCounts, badDurations, badNames, engineFor, untyped } from './fixture.ts'

type Call = (context: WorkflowContext) => Promise<unknown>

/** What the function can catch when it calls a step like this; nothing may be recorded for it. */
async function refusalInside(call: Call): Promise<string> {
  const tries = defineWorkflow({ name: 'tries' }, async (context) => {
    try {
      await call(context)
    } catch (error) {
      return isPerdureError(error) ? error.code : `no error of this package: ${String(error)}`
    }
    return 'accepted'
  })
  const test = await engineFor({ workflows: [tries], functions: { send: () => 1 } })
  const { output, handle } = await test.run(tries, null)
  expect((await handle.history()).entries).toEqual([])
  return String(output)
}

const name = (bad: unknown): string => untyped<string>(bad)
const duration = (bad: unknown): number => untyped<number>(bad)
const child = defineWorkflow({ name: 'child' }, () => 1)

describe('a step is refused where it is called, and nothing is recorded, for', () => {
  it.each(badNames)('a name that is %s', async (_, bad) => {
    const calls: Record<string, Call> = {
      do: ({ step }) => step.do(name(bad), () => 1),
      'do a function': ({ step }) => step.do(name(bad), 'send', 1),
      'do a child': ({ step }) => step.do(name(bad), child, 1),
      sleep: ({ step }) => step.sleep(name(bad), 1),
      sleepUntil: ({ step }) => step.sleepUntil(name(bad), 1),
      waitForEvent: ({ step }) => step.waitForEvent(name(bad)),
      map: ({ step }) => step.map(name(bad), [1], () => 1),
      patched: async ({ step }) => step.patched(name(bad)),
      'a queue': ({ step }) => step.do('a', child, 1, { queue: name(bad) }),
      'a tag': ({ step }) => step.do('a', child, 1, { tags: [name(bad)] }),
    }
    for (const [what, call] of Object.entries(calls)) {
      expect([what, await refusalInside(call)]).toEqual([what, 'INVALID_NAME'])
    }
  })

  it.each(badNames)('a checkpoint whose name is %s', async (_, bad) => {
    if (typeof bad !== 'string') return
    expect(await refusalInside(({ run }) => run.save({ [bad]: 1 }))).toBe('INVALID_NAME')
  })

  it.each([null, undefined, 'page', 7, [1]])('a save of %j', async (patch) => {
    const save: Call = ({ run }) => run.save(untyped<Record<string, unknown>>(patch))
    expect(await refusalInside(save)).toBe('INVALID_ARGUMENT')
  })

  it.each(badDurations)('a duration that is %s', async (_, bad) => {
    const calls: Record<string, Call> = {
      sleep: ({ step }) => step.sleep('a', duration(bad)),
      'a timeout': ({ step }) => step.do('a', () => 1, { timeout: duration(bad) }),
      'a function’s timeout': ({ step }) => step.do('a', 'send', 1, { timeout: duration(bad) }),
      'a child’s timeout': ({ step }) => step.do('a', child, 1, { timeout: duration(bad) }),
      'an event’s timeout': ({ step }) => step.waitForEvent('a', { timeout: duration(bad) }),
      'a retry schedule': ({ step }) => step.do('a', () => 1, { retrySchedule: [duration(bad)] }),
    }
    for (const [what, call] of Object.entries(calls)) {
      expect([what, await refusalInside(call)]).toEqual([what, 'INVALID_DURATION'])
    }
  })

  it.each([new Date(Number.NaN), Number.NaN, Number.POSITIVE_INFINITY, '2030-01-01', null, {}])(
    'a time that is %j',
    async (time) => {
      const sleep: Call = ({ step }) => step.sleepUntil('a', untyped<Date>(time))
      expect(await refusalInside(sleep)).toBe('INVALID_ARGUMENT')
    },
  )

  it.each(badCounts)('a concurrency of map that is %s', async (_, bad) => {
    const map: Call = ({ step }) => step.map('a', [1], () => 1, { concurrency: untyped<number>(bad) })
    expect(await refusalInside(map)).toBe('INVALID_ARGUMENT')
  })

  const others: readonly (readonly [string, Call])[] = [
    ['a body that is none', ({ step }) => step.do('a', untyped<() => void>(undefined))],
    ['a body that is a number', ({ step }) => step.do('a', untyped<() => void>(7))],
    ['a body of map that is none', ({ step }) => step.map('a', [1], untyped<() => void>(undefined))],
    ['items that are no list', ({ step }) => step.map('a', untyped<number[]>('abc'), () => 1)],
    ['items that are missing', ({ step }) => step.map('a', untyped<number[]>(undefined), () => 1)],
    ['retries that are negative', ({ step }) => step.do('a', () => 1, { retries: -1 })],
    ['retries that are endless', ({ step }) => step.do('a', () => 1, { retries: Infinity })],
    ['at most once, and retries', ({ step }) => step.do('a', () => 1, { atMostOnce: true, retries: 1 })],
    ['retryIf that is none', ({ step }) => step.do('a', () => 1, { retryIf: untyped<() => true>('5xx') })],
    ['a priority that is none', ({ step }) => step.do('a', child, 1, { priority: 0.5 })],
  ]
  it.each(others)('%s', async (_, call) => {
    expect(await refusalInside(call)).toBe('INVALID_ARGUMENT')
  })
})
