import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Duration } from '../core/duration.ts'
import type { RetryOptions } from '../core/retry.ts'
import type { RetryPolicy } from '../core/run.ts'
import type { Log } from '../ports/environment.ts'

/** A workflow, as `defineWorkflow` returns it. */
export interface Workflow<Input = unknown, Output = unknown> {
  readonly name: string
  /** Empty if it has none. */
  readonly version: string
  readonly queue: string
  readonly schema: StandardSchemaV1 | null
  readonly retry: RetryPolicy | null
  /** In ms. */
  readonly timeout: number | null
  /** In ms; `null`: the engine's. */
  readonly retention: number | null
  /** The dedupe key of an input, or `null`. A method, so that workflows of all inputs fit into one list. */
  keyOf(input: Input): string | null
  /** Calls the function; `null` if it is only declared: then others execute its runs. */
  readonly call: ((context: WorkflowContext<unknown>) => Promise<Output>) | null
}

/** The function of a workflow. Its code between steps must be deterministic. */
export type WorkflowFunction<Input, Output> = (context: WorkflowContext<Input>) => Output | Promise<Output>

/** A function that steps can call by name, on any worker that has it. */
export type RegisteredFunction = (data: never, context: StepContext) => unknown

/** What a workflow's function is given. */
export interface WorkflowContext<Input = unknown> {
  /** The input of the run, as its schema returned it. */
  readonly input: Input
  /** The durable operations. */
  readonly step: Step
  /** This run: its identity, checkpoints and `cancel`. */
  readonly run: RunControl
  /** Aborts when the run is cancelled, times out, or this worker loses or gives back its claim. */
  readonly signal: AbortSignal
  /** The engine's log; silent while the run is replayed, so that each line appears once. */
  readonly log: Log
}

/** What a step body, or a registered function, is given. */
export interface StepContext {
  /** The run that the step belongs to; for a registered function, the run that called it. */
  readonly runId: string
  /** The step's journal key: its name, with `#2` and so on for repeated names. */
  readonly stepId: string
  /** 1 for the first attempt. */
  readonly attempt: number
  /** The same for every attempt of this step, and for no other step: pass it to the service you call. */
  readonly idempotencyKey: string
  /** Aborts when this attempt is to stop: its timeout, a cancel, a lost claim, the end of a shutdown's grace. */
  readonly signal: AbortSignal
  readonly log: Log
}

/** Options of `step.do`. Retries mean attempts after the first; the default is the engine's. */
export interface StepOptions extends RetryOptions {
  /** Called with the error of a failed attempt: `false` stops retrying. Inline steps only. */
  readonly retryIf?: (error: unknown) => boolean
  /** Longest time of one attempt; then its `signal` aborts, and it counts as failed. */
  readonly timeout?: Duration
  /**
   * The body is never started twice in a run: if a worker dies in it, the step fails with `StepInterruptedError`; once it
   * has failed, it stays failed, also when the run is tried again or revived (fork the run before the step instead).
   * Costs one more commit. Cannot be combined with retries.
   */
  readonly atMostOnce?: boolean
}

/** Options of a child run. */
export interface ChildOptions extends RetryOptions {
  /** Longest time of the whole child run. */
  readonly timeout?: Duration
  readonly queue?: string
  readonly priority?: number
  readonly tags?: readonly string[]
}

/** Options of `step.do` with a registered function. */
export interface CallOptions extends Omit<StepOptions, 'retryIf'> {
  readonly queue?: string
  readonly priority?: number
}

/** Durable operations. Each is named; a name that is used again becomes `name#2`, and so on, in call order. */
export interface Step {
  /** Runs `body` once and records its outcome; replays return what was recorded. */
  do<Output>(
    name: string,
    body: (context: StepContext) => Output | Promise<Output>,
    options?: StepOptions,
  ): Promise<Output>
  /** Runs a child run of `workflow` and returns its output. The child is created with this step, atomically. */
  do<Input, Output>(
    name: string,
    workflow: Workflow<Input, Output>,
    input: Input,
    options?: ChildOptions,
  ): Promise<Output>
  /** Runs a registered function (or a workflow, by its name) on any worker that has it. */
  do<Output = unknown>(name: string, target: string, data?: unknown, options?: CallOptions): Promise<Output>
  /** Waits at least this long, across restarts; holds no worker. Counts from when it was first asked for. */
  sleep(name: string, duration: Duration): Promise<void>
  /** Waits until this time; returns at once if it has passed. */
  sleepUntil(name: string, time: Date | number): Promise<void>
  /**
   * Waits for an event of this name. Events that came earlier are kept and taken in order of arrival.
   * `null` if the timeout passes first.
   */
  waitForEvent<Payload = unknown>(
    name: string,
    options?: { readonly timeout?: Duration },
  ): Promise<Payload | null>
  /** One step per item, at most `concurrency` at a time (default 10). Rejects with the first failure. */
  map<Item, Output>(
    name: string,
    items: readonly Item[],
    body: (item: Item, context: StepContext, index: number) => Output | Promise<Output>,
    options?: StepOptions & { readonly concurrency?: number },
  ): Promise<Output[]>
  /** The time, epoch ms; recorded, so that a replay sees the same. */
  now(): number
  /** A random number, 0 ≤ x < 1; recorded. */
  random(): number
  /** A new UUIDv7; recorded. */
  uuid(): string
  /**
   * `true` in runs that reach this call for the first time, `false` in those that passed here before the call
   * was added: branches new code from old.
   */
  patched(id: string): boolean
}

/** The run itself, from inside. */
export interface RunControl {
  readonly id: string
  readonly workflow: string
  readonly version: string
  readonly key: string | null
  readonly tags: readonly string[]
  /** The number of the run's attempt, from 1: failures that are retried and deaths of workers count, also against `retry`. */
  readonly attempt: number
  readonly parentId: string | null
  /**
   * What `save` has stored, by name. It shows the latest state, also while a run is replayed: decide by it in
   * code without steps (a job that resumes), not between steps.
   */
  readonly checkpoints: Readonly<Record<string, unknown>>
  /**
   * Stores values by name, merged into what was saved before. Durable when it resolves. Also inside step bodies.
   * @throws ClaimLostError if this worker's claim is over: stop what you are doing.
   */
  save(patch: Readonly<Record<string, unknown>>): Promise<void>
  /** Cancels this run: throws `RunCancelledError` here and at all that the run waits on. Never returns. */
  cancel(reason?: string): Promise<never>
}
