import { type Duration, parseDuration } from '../core/duration.ts'
import { InvalidArgumentError } from '../core/errors.ts'
import type { RetryPolicy } from '../core/run.ts'
import type { JobOptions } from './adapter.ts'

/** Checked options of a job, in ms. */
export interface JobPlan {
  /** `null`: a new one. */
  readonly key: string | null
  readonly delay: number
  readonly priority: number
  readonly retry: JobRetry
  readonly repeat: RepeatPlan | null
}

/** How often, and how long after a failed attempt, a job is tried again. */
export type JobRetry = Extract<RetryPolicy, { kind: 'backoff' }>

export type RepeatPlan =
  | { readonly every: number }
  | { readonly pattern: string; readonly timezone: string | undefined }

const MAX_PRIORITY = 1_000_000
const MAX_ATTEMPTS = 1_000_000
const MAX_BACKOFF_MS = 365 * 24 * 3_600_000

/** @throws InvalidArgumentError, InvalidDurationError */
export function planOf(options: JobOptions, supportsRepeat: boolean): JobPlan {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidArgumentError("The options of enqueue are an object, e.g. { jobId: 'A-1' }.")
  }
  const { jobId, delay = 0, priority = 0, attempts = 1, backoff = 0, repeat } = options
  return {
    key: jobId ?? null,
    delay: parseDuration(delay, 'The delay of a job'),
    priority: wholeNumber(priority, 'The priority of a job', 0, MAX_PRIORITY),
    retry: retryOf(wholeNumber(attempts, 'The attempts of a job', 1, MAX_ATTEMPTS), backoff),
    repeat: repeat === undefined ? null : repeatOf(repeat, supportsRepeat),
  }
}

/** @throws InvalidArgumentError */
export function wholeNumber(value: unknown, what: string, min: number, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
  throw new InvalidArgumentError(`${what} is a whole number from ${min} to ${max}, not ${String(value)}.`)
}

function retryOf(attempts: number, backoff: NonNullable<JobOptions['backoff']>): JobRetry {
  const given = typeof backoff === 'object' && backoff !== null ? backoff : { type: 'fixed', delay: backoff }
  const { type } = given
  if (type !== 'fixed' && type !== 'exponential') {
    throw new InvalidArgumentError(`The type of a backoff is 'fixed' or 'exponential', not ${String(type)}.`)
  }
  const initial = parseDuration(given.delay as Duration, 'The backoff of a job')
  const factor = type === 'fixed' ? 1 : 2
  return { kind: 'backoff', retries: attempts - 1, initial, factor, max: MAX_BACKOFF_MS, jitter: 0 }
}

function repeatOf(repeat: NonNullable<JobOptions['repeat']>, supportsRepeat: boolean): RepeatPlan {
  if (!supportsRepeat) {
    throw new InvalidArgumentError(
      'This queue adapter makes no repeating jobs (supportsRepeat is false). The redis adapter does.',
    )
  }
  if (typeof repeat === 'object' && repeat !== null && 'every' in repeat) {
    const every = parseDuration(repeat.every, 'The interval of a repeating job')
    if (every > 0) return { every }
    throw new InvalidArgumentError('The interval of a repeating job is longer than 0.')
  }
  const { pattern, timezone } = Object(repeat)
  if (typeof pattern === 'string' && pattern.trim() !== '') return { pattern, timezone }
  throw new InvalidArgumentError("`repeat` is { every: '5m' } or { pattern: '0 9 * * *', timezone }.")
}
