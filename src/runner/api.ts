import type { Duration, Engine, Environment } from '../index.ts'
import type { QueueAdapter } from '../queues/adapter.ts'

/** The options of `new WorkflowRunner`. Durations: milliseconds, or text such as `'90s'`. */
export interface RunnerOptions {
  /** Keeps and executes deferred work. Call its `work()` where work is to be executed; `stop()` closes it. */
  readonly engine: Engine
  /** Transports fire-and-forget work. Default: the engine's store. `stop()` shuts it down. */
  readonly queueAdapter?: QueueAdapter
  /** How often to look for work that a dead process left, beside what the engine does by itself. Default 60,000. */
  readonly sweepIntervalMs?: number
  /**
   * Leave the engine open at `stop()`, because others use it too. It knows the kinds still, and goes on with their work
   * until it is closed. Default `false`.
   */
  readonly keepEngineOpen?: boolean
  /** Time and a log; for tests. Default: the system's. */
  readonly environment?: Environment
}

/** A kind of work. */
export interface RunnerWorkflow<Trigger = unknown, Output = unknown> {
  /** Its name: the workflow's name in the engine, or the type of its jobs. At most 256 bytes. */
  readonly kind: string
  /** Work with the same key is the same work, while the first is retained. At most 1 KiB of non-blank text. */
  readonly dedupeKey: (trigger: Trigger) => string
  /** Does the work. */
  readonly prepare: Prepare<Trigger, Output>
  /**
   * The minutes after which a failed attempt is tried again, one per further attempt. With it the work is deferred: the
   * trigger and what `save` stores are kept. Without it the work is fire-and-forget: one attempt, no checkpoints.
   */
  readonly retrySchedule?: readonly number[]
  /** 0 … 1: the share of each delay that is random, so that much work does not come back at once. Default: 0. */
  readonly jitter?: number
  /**
   * Called with the error of a failed attempt of deferred work: `false` abandons it at once. An error with `permanent: true`
   * does so anyway. `retryUnlessPermanent` of this package also knows the errors of HTTP clients.
   */
  readonly retryIf?: (error: unknown) => boolean
  /**
   * How many pieces of work of this kind may run at once in this process. Default: of deferred work, as many as the engine
   * executes; of fire-and-forget work, what the queue adapter takes. What waits for its turn in this process occupies a place
   * of the engine's `concurrency`: give the engine more of these than kinds with a limit may have in line.
   */
  readonly concurrency?: number
  /** How long ended work and its key are kept. Default: 24 hours. Of fire-and-forget work the queue adapter decides. */
  readonly retention?: Duration
}

/**
 * Does the work of one trigger. What it returns is kept as the result. An error is tried again as the schedule says, unless
 * it is `permanent`.
 *
 * @param checkpoints what `save` stored in earlier attempts, by name
 * @param save merges values into the checkpoints. Durable when it resolves; rejects, and so stops the work, if another worker
 * has taken it over, and always for fire-and-forget work
 */
export type Prepare<Trigger, Output> = (
  trigger: Trigger,
  checkpoints: Readonly<Record<string, unknown>>,
  save: (patch: Readonly<Record<string, unknown>>) => Promise<void>,
  context: PrepareContext,
) => Output | Promise<Output>

/** What `prepare` is told about this attempt. */
export interface PrepareContext {
  /** What `enqueue` returned. */
  readonly id: string
  /** From 1. */
  readonly attempt: number
  /** Aborts when the work is to stop: cancelled, taken over by another worker, or the end of a shutdown's grace. */
  readonly signal: AbortSignal
}

/** The options of `enqueue`. */
export interface EnqueueOptions {
  /** Do it no earlier than after this time. */
  readonly delay?: Duration
  /** Names by which deferred work can be listed. */
  readonly tags?: readonly string[]
}
