import type { CallPolicy, RetryPolicy } from '../core/run.ts'

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
  readonly replayStall: number
}

/** How an inline step body is attempted. */
export interface BodyPolicy extends CallPolicy {
  readonly retryIf: ((error: unknown) => boolean) | null
}
