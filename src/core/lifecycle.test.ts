import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeError, encodeError } from './error-codec.ts'
import { PermanentError, PoisonedRunError, RetryAfterError, RunTimeoutError } from './errors.ts'
import { afterFailure, cancellation, deadlinePassed, endAfterInterrupt, poisoned } from './lifecycle.ts'
import type { RetryPolicy, RunRecord } from './run.ts'
import { claimed, created } from './run-machine.ts'

const schedule: RetryPolicy = { kind: 'schedule', delays: [100, 200] }
const doubling: RetryPolicy = { kind: 'backoff', retries: 4, initial: 100, factor: 2, max: 350, jitter: 0 }

/** A claimed run with this policy. */
function runWith(retry: RetryPolicy | null, fields: Partial<RunRecord> = {}): RunRecord {
  const run = created(
    {
      id: 'run-1',
      workflow: 'order',
      version: '',
      queue: 'default',
      key: null,
      priority: 0,
      tags: [],
      input: '[1]',
      policy: { retry, timeout: null, retention: 1000, call: null },
      dueAt: 0,
      parentId: null,
      parentStep: null,
      entries: [],
    },
    0,
  )
  return { ...claimed(run, 'worker-1', 0), ...fields }
}

describe('poisoned', () => {
  it('never holds against a run that no worker died of, however often it was attempted', () => {
    expect(poisoned(runWith(schedule, { attempt: 99, deaths: 0 }), 1)).toBeNull()
  })

  describe('without a retry policy', () => {
    it.each([1, 2, 9])('lets a run go on after %d deaths out of 10', (deaths) => {
      expect(poisoned(runWith(null, { deaths, attempt: deaths + 1 }), 10)).toBeNull()
    })

    it.each([10, 11])('gives a run up after %d deaths out of 10', (deaths) => {
      expect(poisoned(runWith(null, { deaths, attempt: deaths + 1 }), 10)).toBeInstanceOf(PoisonedRunError)
    })

    it('says how many workers died', () => {
      expect(poisoned(runWith(null, { deaths: 3 }), 3)?.message).toContain('3 workers in a row died')
    })

    it('does not count attempts, which deaths before the last progress have raised', () => {
      expect(poisoned(runWith(null, { attempt: 50, deaths: 1 }), 10)).toBeNull()
    })
  })

  describe('with a retry policy', () => {
    it('lets the last allowed attempt be made', () => {
      expect(poisoned(runWith(schedule, { attempt: 3, deaths: 2 }), 10)).toBeNull()
    })

    it('gives the run up when a worker died during the last allowed attempt', () => {
      expect(poisoned(runWith(schedule, { attempt: 4, deaths: 1 }), 10)).toBeInstanceOf(PoisonedRunError)
    })

    it('says how many attempts there were', () => {
      expect(poisoned(runWith(doubling, { attempt: 6, deaths: 1 }), 10)?.message).toContain(
        'the last of 5 attempts',
      )
    })
  })

  it('gives every run up sooner or later, if all it does is kill its workers', () => {
    const policies = fc.constantFrom<RetryPolicy | null>(null, schedule, doubling)
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 20 }), (policy, maxDeaths) => {
        let deaths = 0
        while (poisoned(runWith(policy, { deaths, attempt: deaths + 1 }), maxDeaths) === null) deaths += 1
        expect(deaths).toBeLessThanOrEqual(maxDeaths)
      }),
    )
  })
})

describe('afterFailure', () => {
  it('fails a run without a retry policy', () => {
    expect(afterFailure(runWith(null), new Error('x'), 0)).toEqual({ type: 'fail' })
  })

  it.each<[number, ReturnType<typeof afterFailure>]>([
    [1, { type: 'retry', delayMs: 100 }],
    [2, { type: 'retry', delayMs: 200 }],
    [3, { type: 'fail' }],
    [4, { type: 'fail' }],
  ])('walks a schedule of two delays: attempt %d gives %j', (attempt, expected) => {
    expect(afterFailure(runWith(schedule, { attempt }), new Error('x'), 0)).toEqual(expected)
  })

  it('lets the delay of a backoff grow with the attempt', () => {
    const delays = [1, 2, 3, 4].map((attempt) => afterFailure(runWith(doubling, { attempt }), null, 0))
    expect(delays).toMatchObject([{ delayMs: 100 }, { delayMs: 200 }, { delayMs: 350 }, { delayMs: 350 }])
  })

  it('takes the share that is random from its argument', () => {
    const half: RetryPolicy = { ...doubling, jitter: 0.5 }
    const delays = [0, 0.5, 1].map((random) => afterFailure(runWith(half), new Error('x'), random))
    expect(delays).toMatchObject([{ delayMs: 50 }, { delayMs: 75 }, { delayMs: 100 }])
  })

  it('fails a run at a permanent error, whatever its policy', () => {
    expect(afterFailure(runWith(schedule), new PermanentError('no'), 0)).toEqual({ type: 'fail' })
  })

  it('lets the error choose the delay', () => {
    expect(afterFailure(runWith(schedule), new RetryAfterError('5s'), 0)).toEqual({
      type: 'retry',
      delayMs: 5000,
    })
  })
})

describe('cancellation', () => {
  it('names the reason', () => {
    expect(cancellation('too late')).toMatchObject({
      code: 'RUN_CANCELLED',
      message: 'The run was cancelled: too late',
      reason: 'too late',
    })
  })

  it('has no reason if none was given', () => {
    expect(cancellation('')).toMatchObject({ message: 'The run was cancelled.', reason: undefined })
  })
})

describe('deadlinePassed', () => {
  it('names the timeout', () => {
    expect(deadlinePassed(1500)).toMatchObject({
      code: 'RUN_TIMEOUT',
      message: 'The run did not end within its timeout of 1500 ms.',
    })
  })
})

describe('endAfterInterrupt', () => {
  it.each<[string, unknown, string]>([
    ['fails a run whose time was over', deadlinePassed(1), 'failed'],
    ['fails it after the error was stored and read', decodeError(encodeError(deadlinePassed(1))), 'failed'],
    ['fails it by the class, whoever made the error', new RunTimeoutError('x'), 'failed'],
    ['cancels a run that was cancelled', cancellation('why'), 'cancelled'],
    [
      'cancels it after the error was stored and read',
      decodeError(encodeError(cancellation(''))),
      'cancelled',
    ],
    ['cancels a run that was interrupted by anything else', null, 'cancelled'],
  ])('%s', (_, interrupt, expected) => {
    expect(endAfterInterrupt(interrupt)).toBe(expected)
  })
})
