import { parseDuration } from '../core/duration.ts'
import { InvalidArgumentError } from '../core/errors.ts'
import { DEFAULT_MAX_JOURNAL_ENTRIES, DEFAULT_MAX_VALUE_BYTES } from '../core/limits.ts'
import { compileRetry, NO_RETRY } from '../core/retry.ts'
import type { CallPolicy, RetryPolicy } from '../core/run.ts'
import type { EngineOptions } from './api.ts'

/** The engine's settings, all durations in ms. See `EngineOptions` for what they mean. */
export interface EngineConfig {
  readonly retry: RetryPolicy
  readonly retention: number
  readonly maxValueBytes: number
  readonly maxJournalEntries: number
  readonly pollInterval: number
  readonly lease: number
  readonly hotRuns: number
  readonly maxDeaths: number
  readonly abortGrace: number
  /** How long the function may take to ask for what the journal holds next. */
  readonly replayStall: number
}

/** How an inline step body is attempted. */
export interface BodyPolicy extends CallPolicy {
  readonly retryIf: ((error: unknown) => boolean) | null
}

const DEFAULTS = {
  retention: '24h',
  lease: '15s',
  abortGrace: '5s',
  maxValueBytes: DEFAULT_MAX_VALUE_BYTES,
  maxJournalEntries: DEFAULT_MAX_JOURNAL_ENTRIES,
  hotRuns: 1000,
  maxDeaths: 10,
} as const

/** With its heartbeats and sweeps, an idle process then makes less than one call a second on a shared database. */
const POLL_INTERVAL = { ofOneMachine: '1s', shared: '2.5s' }

const REPLAY_STALL_MS = 1000

/** How long `close` waits for step bodies unless told otherwise. */
export const DEFAULT_CLOSE_TIMEOUT = '10s'

/** Reads the options, filling in the defaults. @throws InvalidArgumentError, InvalidDurationError */
export function configOf(options: EngineOptions): EngineConfig {
  const isShared = options.store.clock !== undefined
  const defaults = { ...DEFAULTS, pollInterval: isShared ? POLL_INTERVAL.shared : POLL_INTERVAL.ofOneMachine }
  const duration = (name: 'retention' | 'pollInterval' | 'lease' | 'abortGrace', min: number): number => {
    return Math.max(min, parseDuration(options[name] ?? defaults[name], `The option ${name}`))
  }
  const whole = (
    name: 'maxValueBytes' | 'maxJournalEntries' | 'hotRuns' | 'maxDeaths',
    min: number,
  ): number => {
    const value = options[name] ?? DEFAULTS[name]
    if (Number.isInteger(value) && value >= min) return value
    throw new InvalidArgumentError(`The option ${name} is a whole number from ${min}.`)
  }
  return {
    retry: compileRetry(options.stepRetry ?? {}, 'The option stepRetry', NO_RETRY),
    retention: duration('retention', 0),
    pollInterval: duration('pollInterval', 1),
    lease: duration('lease', 10),
    abortGrace: duration('abortGrace', 0),
    maxValueBytes: whole('maxValueBytes', 1),
    maxJournalEntries: whole('maxJournalEntries', 1),
    hotRuns: whole('hotRuns', 0),
    maxDeaths: whole('maxDeaths', 1),
    replayStall: REPLAY_STALL_MS,
  }
}
