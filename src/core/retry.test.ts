import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InvalidArgumentError, InvalidDurationError, PermanentError, RetryAfterError } from './errors.ts'
import { compileRetry, decideRetry, maxAttempts, NO_RETRY, type RetryOptions } from './retry.ts'
import type { RetryPolicy } from './run.ts'

const compile = (options: RetryOptions, defaults: RetryPolicy = NO_RETRY) =>
  compileRetry(options, 'Step "pay"', defaults)

const decide = (policy: RetryPolicy, attempt: number, error: unknown = new Error('x'), random = 1) =>
  decideRetry({ policy, attempt, error, random })

describe('compileRetry', () => {
  it('gives the defaults where nothing is said', () => {
    expect(compile({})).toBe(NO_RETRY)
    const defaults: RetryPolicy = { kind: 'schedule', delays: [1] }
    expect(compile({}, defaults)).toBe(defaults)
  })

  it('grows exponentially when only retries are given', () => {
    const exponential = { kind: 'backoff', retries: 3, initial: 1000, factor: 2, max: 3_600_000, jitter: 0.1 }
    expect(compile({ retries: 3 })).toEqual(exponential)
    expect(compile({ retries: 3, retryDelay: 'exponential' })).toEqual(exponential)
    expect(compile({ retries: 3 }, { kind: 'schedule', delays: [5, 5] })).toEqual(exponential)
    expect(compile({ retries: 3, retryDelay: {} })).toEqual(exponential)
  })

  it('keeps the default delays under new retries, and the default retries under a new delay', () => {
    const defaults: RetryPolicy = { kind: 'backoff', retries: 7, initial: 5, factor: 1, max: 5, jitter: 0 }
    expect(compile({ retries: 2 }, defaults)).toEqual({ ...defaults, retries: 2 })
    expect(compile({ retryDelay: '1s' }, defaults)).toEqual({ ...defaults, initial: 1000, max: 1000 })
    expect(compile({ retryDelay: 0 }, { kind: 'schedule', delays: [1, 2] })).toMatchObject({
      retries: 2,
      initial: 0,
    })
  })

  it('takes the parts of a growing delay', () => {
    expect(compile({ retries: 1, retryDelay: { initial: '2s', factor: 3, max: '1m', jitter: 0 } })).toEqual({
      kind: 'backoff',
      retries: 1,
      initial: 2000,
      factor: 3,
      max: 60_000,
      jitter: 0,
    })
    expect(compile({ retries: 1, retryDelay: { initial: '2h' } })).toMatchObject({
      initial: 7_200_000,
      max: 7_200_000,
    })
  })

  it('takes a schedule', () => {
    expect(compile({ retrySchedule: ['5m', 10] })).toEqual({ kind: 'schedule', delays: [300_000, 10] })
  })

  it.each<[string, unknown, string]>([
    ['negative retries', { retries: -1 }, 'whole number'],
    ['fractional retries', { retries: 1.5 }, '1.5'],
    ['NaN retries', { retries: Number.NaN }, 'NaN'],
    ['endless retries', { retries: Number.POSITIVE_INFINITY }, 'Infinity'],
    ['retries as text', { retries: '3' }, 'whole number'],
    ['a shrinking factor', { retries: 1, retryDelay: { factor: 0.5 } }, 'factor'],
    ['a NaN factor', { retries: 1, retryDelay: { factor: Number.NaN } }, 'factor'],
    ['negative jitter', { retries: 1, retryDelay: { jitter: -0.1 } }, 'jitter'],
    ['jitter over 1', { retries: 1, retryDelay: { jitter: 1.1 } }, 'jitter'],
    ['NaN jitter', { retries: 1, retryDelay: { jitter: Number.NaN } }, 'jitter'],
    ['a maximum below the initial delay', { retries: 1, retryDelay: { initial: 10, max: 5 } }, 'max'],
    ['an empty schedule', { retrySchedule: [] }, '1 to 1000'],
    ['a schedule that is no list', { retrySchedule: '5m' }, 'list'],
    ['an endless schedule', { retrySchedule: new Array(1001).fill(1) }, '1 to 1000'],
    ['a schedule with retries', { retrySchedule: [1], retries: 1 }, 'remove retries'],
    ['a jitter without a schedule', { retries: 1, jitter: 0.1 }, 'goes with a schedule'],
    ['a jitter above 1', { retrySchedule: [1], jitter: 2 }, 'from 0 to 1'],
    ['a schedule with a delay', { retrySchedule: [1], retryDelay: 1 }, 'remove retries'],
    ['a delay without retries', { retryDelay: '5s' }, 'Add e.g. retries: 3'],
  ])('refuses %s', (_, options, message) => {
    expect(() => compile(options as RetryOptions)).toThrow(InvalidArgumentError)
    expect(() => compile(options as RetryOptions)).toThrow(message)
    expect(() => compile(options as RetryOptions)).toThrow('Step "pay"')
  })

  it.each<[unknown]>([
    [{ retries: 1, retryDelay: '' }],
    [{ retries: 1, retryDelay: -1 }],
    [{ retries: 1, retryDelay: Number.NaN }],
    [{ retries: 1, retryDelay: null }],
    [{ retries: 1, retryDelay: ['5m'] }],
    [{ retries: 1, retryDelay: { initial: 'soon' } }],
    [{ retries: 1, retryDelay: { max: -1 } }],
    [{ retrySchedule: ['5m', '1 fortnight'] }],
    [{ retrySchedule: new Array(2) }],
  ])('refuses the delay in %j', (options) => {
    expect(() => compile(options as RetryOptions)).toThrow(InvalidDurationError)
  })
})

describe('maxAttempts', () => {
  it('counts the first attempt too', () => {
    expect(maxAttempts(NO_RETRY)).toBe(1)
    for (const retries of [0, 1, 2, 5]) expect(maxAttempts(compile({ retries }))).toBe(retries + 1)
    expect(maxAttempts({ kind: 'schedule', delays: [1, 2] })).toBe(3)
  })
})

describe('decideRetry', () => {
  it('makes exactly one attempt per delay of a schedule, and one more', () => {
    const jittered = compile({ retrySchedule: [1000, 10], jitter: 0.5 })
    expect(decide(jittered, 1, new Error('x'), 0)).toEqual({ retry: true, delayMs: 500 })
    expect(decide(jittered, 1, new Error('x'), 1)).toEqual({ retry: true, delayMs: 1000 })
    const policy = compile({ retrySchedule: [5, 10] })
    expect([1, 2, 3].map((attempt) => decide(policy, attempt))).toEqual([
      { retry: true, delayMs: 5 },
      { retry: true, delayMs: 10 },
      { retry: false },
    ])
  })

  it('stops after the retries', () => {
    expect(decide(NO_RETRY, 1)).toEqual({ retry: false })
    const policy = compile({ retries: 2, retryDelay: '1s' })
    expect([1, 2, 3, 9].map((attempt) => decide(policy, attempt).retry)).toEqual([true, true, false, false])
  })

  it('stops at a permanent error, also as a cause, also of a plain object', () => {
    const policy = compile({ retries: 9 })
    expect(decide(policy, 1, new PermanentError('no'))).toEqual({ retry: false })
    expect(decide(policy, 1, { permanent: true })).toEqual({ retry: false })
    expect(decide(policy, 1, new Error('outer', { cause: new PermanentError('no') }))).toEqual({
      retry: false,
    })
  })

  it('lets the error choose the delay, which still uses an attempt', () => {
    const policy = compile({ retries: 2, retryDelay: 7 })
    expect(decide(policy, 1, new RetryAfterError('30s'))).toEqual({ retry: true, delayMs: 30_000 })
    expect(decide(policy, 2, new RetryAfterError(0))).toEqual({ retry: true, delayMs: 0 })
    expect(decide(policy, 3, new RetryAfterError('30s'))).toEqual({ retry: false })
    expect(decide(policy, 1, new RetryAfterError('Wed, 21 Oct'))).toEqual({ retry: true, delayMs: 7 })
    expect(decide(policy, 1, new RetryAfterError(Number.NaN))).toEqual({ retry: true, delayMs: 7 })
  })

  it('retries at once, for ever, when the delay is 0', () => {
    for (const retryDelay of [0, '0s', { initial: 0, factor: 10 }]) {
      const policy = compile({ retries: 5000, retryDelay })
      for (let attempt = 1; attempt <= 5000; attempt++) {
        expect(decide(policy, attempt)).toEqual({ retry: true, delayMs: 0 })
      }
    }
  })

  it.each([1, 1.5, 2, 10])(
    'grows by factor %d up to its maximum for 5000 attempts, always a whole number',
    (factor) => {
      const policy = compile({ retries: 5001, retryDelay: { initial: 3, factor, max: '1h', jitter: 0 } })
      let last = 0
      for (let attempt = 1; attempt <= 5000; attempt++) {
        const decision = decide(policy, attempt)
        const delay = decision.retry ? decision.delayMs : Number.NaN
        expect(Number.isInteger(delay) && delay >= last && delay <= 3_600_000).toBe(true)
        last = delay
      }
    },
  )

  it('keeps jitter within its share of the delay', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempt, jitter, random) => {
          const policy = compile({ retries: 5001, retryDelay: { initial: 1000, max: 60_000, jitter } })
          const decision = decide(policy, attempt, null, random)
          const full = Math.min(1000 * 2 ** (attempt - 1), 60_000)
          const delay = decision.retry ? decision.delayMs : Number.NaN
          expect(Number.isInteger(delay)).toBe(true)
          expect(delay).toBeLessThanOrEqual(full)
          expect(delay).toBeGreaterThanOrEqual(Math.floor(full * (1 - jitter)))
        },
      ),
    )
  })
})
