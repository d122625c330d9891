/** When a failed attempt is tried again: the options that users write, and the decision after a failure. */

import { type Duration, parseDuration } from './duration.ts'
import { isPermanent, retryAfterOf } from './error-codec.ts'
import { InvalidArgumentError } from './errors.ts'
import { MAX_SCHEDULE_LENGTH } from './limits.ts'
import type { RetryPolicy } from './run.ts'

/** A delay that grows with every attempt: `initial × factor ^ (attempts - 1)`, at most `max`. */
export interface Backoff {
  /** Before the first retry. Default: 1 second. */
  readonly initial?: Duration
  /** 1 or more. Default: 2. */
  readonly factor?: number
  /** The longest delay. Default: 1 hour, or `initial` if that is longer. */
  readonly max?: Duration
  /** 0 … 1: the share of each delay that is random, so that many runs do not retry at once. Default: 0.1. */
  readonly jitter?: number
}

/**
 * How often and when a failed step or run is tried again. Give `retries` and perhaps `retryDelay`, or
 * `retrySchedule` alone.
 *
 * @example { retries: 4, retryDelay: 'exponential' } // 5 attempts in all
 * @example { retrySchedule: ['5m', '10m', '20m'] } // 4 attempts in all
 */
export interface RetryOptions {
  /** Attempts after the first: `retries: 2` means 3 attempts in all. */
  readonly retries?: number
  /** A fixed duration (0 means at once), `'exponential'` (1s, doubling, at most 1h, 10 % jitter), or its parts. */
  readonly retryDelay?: Duration | 'exponential' | Backoff
  /** One delay per retry. */
  readonly retrySchedule?: readonly Duration[]
  /** 0 … 1: the share of each delay of a `retrySchedule` that is random. Default: 0. */
  readonly jitter?: number
}

type BackoffPolicy = Extract<RetryPolicy, { kind: 'backoff' }>

const HOUR = 3_600_000

/** The delays of `'exponential'`. */
const exponential = { initial: 1000, factor: 2, max: HOUR, jitter: 0.1 } as const

/** One attempt, no retry. The delays apply to whoever asks for `retries` alone. */
export const NO_RETRY: RetryPolicy = Object.freeze({ kind: 'backoff', retries: 0, ...exponential })

/** What {@link decideRetry} decides from. */
export interface FailedAttempt {
  readonly policy: RetryPolicy
  /** Number of the attempt that failed, from 1. */
  readonly attempt: number
  /** What it threw. */
  readonly error: unknown
  /** A random number, 0 … 1, for the jitter. */
  readonly random: number
}

/** Whether to try again, and how many whole ms later. */
export type RetryDecision = { readonly retry: true; readonly delayMs: number } | { readonly retry: false }

/**
 * Checks retry options and turns them into the plain policy that is stored with a run.
 *
 * @param what names the owner of the options in messages, e.g. `'Step "pay"'`
 * @param defaults applies where the options are silent
 * @throws {InvalidArgumentError} when numbers are out of range or options contradict each other
 * @throws {InvalidDurationError} when a delay is no duration
 */
export function compileRetry(options: RetryOptions, what: string, defaults: RetryPolicy): RetryPolicy {
  const { retries, retryDelay, retrySchedule, jitter } = options
  if (retrySchedule !== undefined) {
    if (retries !== undefined || retryDelay !== undefined) {
      refuse(`${what}: retrySchedule already says how often and when; remove retries and retryDelay.`)
    }
    return compileSchedule(retrySchedule, jitter, what)
  }
  if (jitter !== undefined)
    refuse(`${what}: jitter goes with a schedule; for others write it into retryDelay.`)
  if (retries === undefined && retryDelay === undefined) return defaults
  const count = retries === undefined ? maxAttempts(defaults) - 1 : checkRetries(retries, what)
  if (retries === undefined && count === 0) {
    refuse(`${what}: retryDelay has no effect without retries. Add e.g. retries: 3.`)
  }
  return { ...compileDelay(retryDelay, what, defaults), retries: count }
}

/** How many attempts a policy allows in all, the first included. */
export function maxAttempts(policy: RetryPolicy): number {
  return 1 + (policy.kind === 'schedule' ? policy.delays.length : policy.retries)
}

/**
 * Decides after a failed attempt. A permanent error ends it; a `RetryAfterError` chooses its own delay, but uses up
 * an attempt like any other.
 */
export function decideRetry({ policy, attempt, error, random }: FailedAttempt): RetryDecision {
  const planned = plannedDelay(policy, attempt, random)
  if (planned === undefined || isPermanent(error)) return { retry: false }
  return { retry: true, delayMs: requestedDelay(error) ?? planned }
}

function compileSchedule(
  schedule: readonly Duration[],
  jitter: number | undefined,
  what: string,
): RetryPolicy {
  if (!Array.isArray(schedule) || schedule.length === 0 || schedule.length > MAX_SCHEDULE_LENGTH) {
    refuse(
      `${what}: retrySchedule must be a list of 1 to ${MAX_SCHEDULE_LENGTH} durations, e.g. ['5m', '10m']. ` +
        'Leave it out for no retries.',
    )
  }
  const delays = Array.from(schedule, (delay, index) =>
    parseDuration(delay, `${what}: retrySchedule[${index}]`),
  )
  if (jitter === undefined) return { kind: 'schedule', delays }
  return { kind: 'schedule', delays, jitter: checkJitter(jitter, `${what}: jitter`) }
}

function compileDelay(delay: RetryOptions['retryDelay'], what: string, defaults: RetryPolicy): BackoffPolicy {
  if (delay === undefined && defaults.kind === 'backoff') return defaults
  if (delay === undefined || delay === 'exponential') return { kind: 'backoff', retries: 0, ...exponential }
  if (isBackoff(delay)) return compileBackoff(delay, what)
  const fixed = parseDuration(delay, `${what}: retryDelay`)
  return { kind: 'backoff', retries: 0, initial: fixed, factor: 1, max: fixed, jitter: 0 }
}

/** A list is no backoff: whoever gives one meant `retrySchedule`, and gets an error. */
function isBackoff(delay: Duration | Backoff): delay is Backoff {
  return typeof delay === 'object' && delay !== null && !Array.isArray(delay)
}

function compileBackoff(backoff: Backoff, what: string): BackoffPolicy {
  const { factor = exponential.factor, jitter = exponential.jitter } = backoff
  const initial = parseDuration(backoff.initial ?? exponential.initial, `${what}: retryDelay.initial`)
  const max = parseDuration(backoff.max ?? Math.max(exponential.max, initial), `${what}: retryDelay.max`)
  if (!Number.isFinite(factor) || factor < 1) {
    refuse(`${what}: retryDelay.factor must be a number of 1 or more, not ${String(factor)}.`)
  }
  checkJitter(jitter, `${what}: retryDelay.jitter`)
  if (max < initial)
    refuse(`${what}: retryDelay.max is shorter than retryDelay.initial. Raise it or leave it out.`)
  return { kind: 'backoff', retries: 0, initial, factor, max, jitter }
}

function checkJitter(jitter: number, what: string): number {
  if (Number.isFinite(jitter) && jitter >= 0 && jitter <= 1) return jitter
  return refuse(`${what} must be a number from 0 to 1, not ${String(jitter)}.`)
}

function checkRetries(retries: number, what: string): number {
  if (Number.isSafeInteger(retries) && retries >= 0) return retries
  return refuse(`${what}: retries must be a whole number of 0 or more, not ${String(retries)}.`)
}

function refuse(message: string): never {
  throw new InvalidArgumentError(message)
}

/** The delay that a `RetryAfterError` asks for; `null` when there is none that can be read. */
function requestedDelay(error: unknown): number | null {
  const requested = retryAfterOf(error)
  if (requested === null) return null
  try {
    return parseDuration(requested, 'retryAfter')
  } catch {
    // It may stem from a header of a foreign service: then the policy decides, as for any failure.
    return null
  }
}

/** The delay of the policy after this attempt; `undefined` when it was the last. */
function plannedDelay(policy: RetryPolicy, attempt: number, random: number): number | undefined {
  const full = policy.kind === 'schedule' ? policy.delays[attempt - 1] : grownDelay(policy, attempt)
  return full === undefined ? undefined : Math.ceil(full * (1 - (policy.jitter ?? 0) * (1 - random)))
}

function grownDelay(policy: BackoffPolicy, attempt: number): number | undefined {
  if (attempt > policy.retries) return undefined
  // 0 × Infinity would be NaN.
  if (policy.initial === 0) return 0
  return Math.min(policy.initial * policy.factor ** (attempt - 1), policy.max)
}
