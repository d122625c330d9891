import type { Duration } from '../core/duration.ts'
import type { RetryOptions } from '../core/retry.ts'
import type { RunRecord, RunStatus } from '../core/run.ts'
import type { Environment, Log } from '../ports/environment.ts'
import type { Notifier } from '../ports/notifier.ts'
import type { Observer } from '../ports/observer.ts'
import type { RunCount, RunFilter, RunPage, Store } from '../ports/store.ts'
import type { History } from './history.ts'
import type { RegisteredFunction, Workflow } from './workflow.ts'

/** The options of `createEngine`. Durations: milliseconds, or text such as `'90s'`. */
export interface EngineOptions {
  /** Where runs live: `sqlite('work.db')`, `memory()`, … The engine closes it when it is closed. */
  readonly store: Store
  readonly workflows?: readonly Workflow[]
  /** Functions that steps can call by name. Names are shared with workflows. */
  readonly functions?: Readonly<Record<string, RegisteredFunction>>
  /**
   * Carries wake-up hints to engines of other processes. Default: what the store brings along, else within this process,
   * per store. One that is given here is left open when the engine is closed.
   */
  readonly notifier?: Notifier
  /** Default: warnings and errors to standard error. */
  readonly log?: Log
  /** Time, chance and timers; for tests. Default: the system's. */
  readonly environment?: Environment
  /** Is told what happens, e.g. for telemetry. */
  readonly observer?: Observer
  /** Retries of steps that name none. Default: none. */
  readonly stepRetry?: RetryOptions
  /** How long ended runs and their keys are kept, unless the workflow says otherwise. Default 24 hours. */
  readonly retention?: Duration
  /** Limit of one encoded value, in bytes. Default 1 MiB. */
  readonly maxValueBytes?: number
  /** Limit of journal entries per run. Default 10,000. */
  readonly maxJournalEntries?: number
  /**
   * How often an idle worker asks the store whether something is due. Default 1 second, and 2.5 seconds on a store that
   * machines share (PostgreSQL, MongoDB). New work that is hinted at, or that the worker starts itself, does not wait for it.
   */
  readonly pollInterval?: Duration
  /** After this time without a heartbeat a worker counts as dead. Default 15 seconds. */
  readonly lease?: Duration
  /** How many parked runs stay in memory, to go on without a replay. Default 1,000. */
  readonly hotRuns?: number
  /** Workers in a row that may die executing a run that records no outcome and no new checkpoint. Default 10. */
  readonly maxDeaths?: number
  /** How long a cancelled run waits for a body that ignores its `signal`. Default 5 seconds. */
  readonly abortGrace?: Duration
  /** Leave the store open when the engine is closed, because others use it too. Default `false`. */
  readonly keepStoreOpen?: boolean
}

/** The options of `engine.work`. */
export interface WorkOptions {
  /** How many runs may execute at once; parked runs do not count. Default 100. */
  readonly concurrency?: number
  /** Work only on these queues. Default: all. */
  readonly queues?: readonly string[]
}

/** Starts runs, executes them, and tells about them. Make one per process and store. */
export interface Engine {
  /** Begins to execute runs in this process, until `close`. Resolves when it has begun, or was closed meanwhile. */
  work(options?: WorkOptions): Promise<void>
  /**
   * Stops working: takes no new runs, lets step bodies that run end for `timeout` (default 10 seconds), then aborts them;
   * hands all unfinished runs back so that others go on at once; closes the store. Idempotent.
   */
  close(options?: { readonly timeout?: Duration }): Promise<void>
  /**
   * Adds a workflow, also while the engine works: what is due of it is claimed at once. One that is only declared gets
   * its function this way; declaring one that is known changes nothing.
   * @throws DuplicateWorkflowError, InvalidArgumentError, EngineClosedError
   */
  register(workflow: Workflow): void
  /**
   * Looks for work now: frees what dead workers hold whose lease is over, and claims what is due. Workers do both by
   * themselves, within a third of the lease and the poll interval. Returns the ids of the runs that were freed (up to 500).
   */
  sweep(): Promise<readonly string[]>
  /**
   * Starts a run. When it resolves, the run is durable: it will be executed whatever happens to this process.
   * @throws UnknownWorkflowError, InvalidInputError, ValueTooLargeError, InvalidNameError, InvalidDurationError,
   * RunConflictError, EngineClosedError, StoreError: nothing was started (after a StoreError repeat the call with
   * the same key or id).
   */
  startWorkflow<Input, Output>(
    workflow: Workflow<Input, Output>,
    input: Input,
    options?: StartOptions,
  ): Promise<RunHandle<Output>>
  /** The same by name; also starts a registered function as a run. */
  startWorkflow<Output = unknown>(
    name: string,
    input?: unknown,
    options?: StartOptions,
  ): Promise<RunHandle<Output>>
  /** A handle of a run, whether it exists or not. */
  getHandle<Output = unknown>(runId: string): RunHandle<Output>
  /** The run, or `null` if there is none (any more). */
  getRun(runId: string): Promise<RunRecord | null>
  /** Runs, newest first. `limit` defaults to 100. */
  listRuns(filter?: Partial<RunFilter>): Promise<RunPage>
  /** How many runs are in which state, by workflow and queue. */
  stats(): Promise<readonly RunCount[]>
  /**
   * Delivers an event to a run; it is kept until the run waits for it. With an `id`, repeating the call has no effect.
   * @throws RunNotFoundError, RunStateError if the run has ended.
   */
  sendEvent(runId: string, name: string, payload?: unknown, options?: { readonly id?: string }): Promise<void>
  /** Cancels a run: `RunCancelledError` is thrown into it once, so that it can clean up, and it ends as cancelled. */
  cancel(runId: string, reason?: string): Promise<void>
  /** Sets a run aside after the step bodies that run, until `resume`. */
  pause(runId: string): Promise<void>
  /** Ends a pause. @throws RunNotFoundError, RunStateError if the run is not paused. */
  resume(runId: string): Promise<void>
  /** Starts a failed or cancelled run over, with its journal: what succeeded is not done again. */
  revive(runId: string): Promise<void>
  /**
   * Makes a run due now: ends the delay of a start, or of a retry of the whole run. Sleeps and retries of steps keep
   * their time. @throws RunNotFoundError, RunStateError if it is running, paused or has ended.
   */
  wake(runId: string): Promise<void>
  /** Starts a new run from the part of a journal before a step. */
  fork<Output = unknown>(runId: string, options?: ForkOptions): Promise<RunHandle<Output>>
  /** Deletes an ended run, its journal and its key. */
  deleteRun(runId: string): Promise<void>
}

/** The options of `startWorkflow`. */
export interface StartOptions {
  /** The dedupe key, instead of the one that the workflow's `key` derives. At most 1 KiB. */
  readonly key?: string
  /** The run's id; by default a new UUIDv7. Starting with an id that exists finds that run. */
  readonly id?: string
  /** Start no earlier than after this time. */
  readonly delay?: Duration
  /** Higher goes first among what is due. Default 0. */
  readonly priority?: number
  readonly queue?: string
  /** Up to 32 names by which runs can be listed. */
  readonly tags?: readonly string[]
  /**
   * What to do if another run holds the key (or the id): `'return'` that run (default), `'reject'` with
   * `RunConflictError`, or `'revive'` it if it has failed or was cancelled; its journal and checkpoints are kept.
   */
  readonly onConflict?: 'return' | 'reject' | 'revive'
}

/** A run, from outside. Cheap; any number of handles may name the same run. */
export interface RunHandle<Output = unknown> {
  readonly id: string
  /** Whether this call created the run; `false` if the run held the key or id already. */
  readonly created: boolean
  /** Whether an existing run was found whose input is another one than the given. */
  readonly inputDiffers: boolean
  /**
   * Waits for the run to end and returns its output.
   * @throws RunFailedError with the run's error as `cause`; RunCancelledError; WaitTimeoutError when `timeout` passes
   * first (the run goes on); RunNotFoundError if the run was pruned or deleted. A paused run is waited for.
   */
  result(options?: { readonly timeout?: Duration }): Promise<Output>
  /** The run's status now. @throws RunNotFoundError */
  status(): Promise<RunStatus>
  /**
   * Everything about the run but its journal. Input, output and error are encoded: `decodeValue` and `decodeError`
   * read them. @throws RunNotFoundError
   */
  get(): Promise<RunRecord>
  /** What happened, in order, with each step's attempts. @throws RunNotFoundError */
  history(): Promise<History>
  /** Cancels the run. @throws RunNotFoundError, RunStateError if it has ended otherwise. */
  cancel(reason?: string): Promise<void>
  /** Sets the run aside; see `Engine.pause`. */
  pause(): Promise<void>
  /** Ends a pause. */
  resume(): Promise<void>
  /** Starts the failed or cancelled run over; see `Engine.revive`. */
  revive(): Promise<void>
  /** Makes the run due now; see `Engine.wake`. */
  wake(): Promise<void>
}

/** The options of `fork`. */
export interface ForkOptions {
  /**
   * The first step that is done again, by name (`name#2` for the second use). Checkpoints saved since it began are dropped.
   * Default: keep all outcomes but the failures at the end.
   */
  readonly before?: string
  /** The new run's id. */
  readonly id?: string
}
