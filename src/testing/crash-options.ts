import type { Duration } from '../core/duration.ts'
import type { Engine, RunHandle, StartOptions } from '../engine/api.ts'
import type { Store } from '../ports/store.ts'
import type { RunResult } from './run-result.ts'
import type { TestEngine, TestEngineOptions } from './test-engine.ts'

/** What the test does while the run goes on: send events, cancel, let time pass. */
export interface CrashDriver extends Pick<TestEngine, 'time' | 'runUntilIdle' | 'advance' | 'until'> {
  /** An engine in another process: it executes nothing, and it survives. */
  readonly engine: Engine
}

type EngineOptionsOfCrashes = Omit<
  TestEngineOptions,
  'store' | 'time' | 'seed' | 'work' | 'lease' | 'notifier' | 'observer' | 'keepStoreOpen'
>

/** The options of `crashEverywhere`: those of the engine, where `workflows` need not name the one under test. */
export interface CrashOptions extends EngineOptionsOfCrashes {
  /** How the run is started. */
  readonly start?: Omit<StartOptions, 'id'>
  /**
   * Called once the run is started, in every run: what the outside world does meanwhile. When it returns, time is
   * moved on until nothing is due any more.
   */
  readonly drive?: (driver: CrashDriver, handle: RunHandle) => Promise<void>
  /** Called before every run, e.g. to reset fakes. */
  readonly setup?: () => void | Promise<void>
  /**
   * Counters of side effects, by name, e.g. `{ mails: () => mailer.sent.length }`. Each is read before and after
   * every run; what grows more with a crash than without is reported.
   */
  readonly effects?: Readonly<Record<string, () => number>>
  /**
   * Whether a run with a crash has come out like the one without. Default: the same status, the same output and
   * error, and the same outcome of every step, in whatever order.
   */
  readonly equals?: (expected: RunResult, actual: RunResult) => boolean
  /** How long after a crash another process takes over. Default 15 seconds, the engine's lease. */
  readonly lease?: Duration
  /** Makes a fresh store for every run. Default: `memory`. */
  readonly store?: () => Store | Promise<Store>
}
