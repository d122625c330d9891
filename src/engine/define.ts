import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type Duration, parseDuration } from '../core/duration.ts'
import { InvalidArgumentError } from '../core/errors.ts'
import { checkName } from '../core/names.ts'
import { compileRetry, NO_RETRY, type RetryOptions } from '../core/retry.ts'
import type { RetryPolicy } from '../core/run.ts'
import type { Workflow, WorkflowContext, WorkflowFunction } from './workflow.ts'

/** The options of `defineWorkflow`. Durations: milliseconds, or text such as `'90s'`, `'1h 30m'`. */
export interface WorkflowOptions<Input = unknown> {
  /** Unique in an engine, among workflows of the same version and functions. At most 256 bytes. */
  readonly name: string
  /**
   * Checks, and may transform, the input: at start, and again whenever the run is loaded. The journal keeps
   * the input as it was given. Any schema library that implements Standard Schema will do.
   */
  readonly input?: StandardSchemaV1
  /** The dedupe key of a run, if none is given at start. Unique per workflow while the run is retained. */
  readonly key?: (input: Input) => string
  /** Runs are executed only by workers that have the version with which they were started. */
  readonly version?: string
  /** The queue of its runs. Default: `'default'`. */
  readonly queue?: string
  /**
   * How often the whole run is tried again if its function fails. The death of a worker uses up one of these attempts
   * too, also if steps have succeeded since; without `retry`, only `maxDeaths` deaths in a row end a run. Default: not at all.
   */
  readonly retry?: Pick<RetryOptions, 'retries' | 'retryDelay' | 'jitter'> & {
    /** The delay before each further attempt; its length is the number of retries. */
    readonly schedule?: readonly Duration[]
  }
  /** Longest time from the first start to the end of a run. Default: none. */
  readonly timeout?: Duration
  /** How long an ended run, and its key, are kept. Default: the engine's. */
  readonly retention?: Duration
}

/**
 * Defines a workflow: a named function whose steps are recorded, so that it goes on after a crash where it was.
 *
 * @throws InvalidNameError, InvalidDurationError, InvalidArgumentError for options that cannot be used.
 * @example
 * const greet = defineWorkflow({ name: 'greet' }, async ({ input, step }: WorkflowContext<string>) => {
 *   const text = await step.do('compose', () => `Hello, ${input}!`)
 *   await step.sleep('a pause', '1 minute')
 *   return text
 * })
 */
export function defineWorkflow<Schema extends StandardSchemaV1, Output>(
  options: WorkflowOptions<StandardSchemaV1.InferInput<Schema>> & { readonly input: Schema },
  fn: WorkflowFunction<StandardSchemaV1.InferOutput<Schema>, Output>,
): Workflow<StandardSchemaV1.InferInput<Schema>, Output>
export function defineWorkflow<Input, Output>(
  options: WorkflowOptions<Input>,
  fn: WorkflowFunction<Input, Output>,
): Workflow<Input, Output>
export function defineWorkflow<Input, Output>(
  options: WorkflowOptions<Input>,
  fn: WorkflowFunction<Input, Output>,
): Workflow<Input, Output> {
  const workflow = declareWorkflow<Input, Output>(options)
  if (typeof fn !== 'function') {
    throw new InvalidArgumentError(`Workflow "${workflow.name}" needs a function as the second argument.`)
  }
  // The registry hands over the input that this workflow's own schema returned.
  return { ...workflow, call: async (context) => await fn(context as WorkflowContext<Input>) }
}

/**
 * Declares a workflow whose function is elsewhere: an engine that is given it can start its runs and wait for them, and
 * executes none. Say what the definition says: how runs are retried and kept is fixed when they are started.
 *
 * @throws InvalidNameError, InvalidDurationError, InvalidArgumentError for options that cannot be used.
 * @example
 * const resize = declareWorkflow<{ url: string }, string>({ name: 'resize' }) // defined in the workers' code
 * const engine = createEngine({ store, workflows: [resize] })
 * const url = await (await engine.startWorkflow(resize, { url: 'cat.png' })).result()
 */
export function declareWorkflow<Input = unknown, Output = unknown>(
  options: WorkflowOptions<Input>,
): Workflow<Input, Output> {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidArgumentError('A workflow is described by an options object with a name.')
  }
  const name = checkName(options.name, 'The name of a workflow')
  checkSchema(name, options.input)
  const { key } = options
  if (key !== undefined && typeof key !== 'function') {
    throw new InvalidArgumentError(`The key of workflow "${name}" must be a function of its input.`)
  }
  return {
    name,
    version:
      options.version === undefined ? '' : checkName(options.version, `The version of workflow "${name}"`),
    queue: options.queue === undefined ? DEFAULT_QUEUE : checkName(options.queue, `The queue of "${name}"`),
    schema: options.input ?? null,
    retry: runRetry(name, options.retry),
    timeout: duration(options.timeout, `The timeout of workflow "${name}"`),
    retention: duration(options.retention, `The retention of workflow "${name}"`),
    keyOf: (input) => (key === undefined ? null : key(input)),
    call: null,
  }
}

/** The queue of runs that name none. */
export const DEFAULT_QUEUE = 'default'

function checkSchema(name: string, schema: unknown): void {
  if (schema === undefined) return
  const standard = (schema as { '~standard'?: { validate?: unknown } } | null)?.['~standard']
  if (typeof standard?.validate === 'function') return
  throw new InvalidArgumentError(
    `The input of workflow "${name}" must be a Standard Schema (zod, valibot, arktype, …); see standardschema.dev.`,
  )
}

function runRetry(name: string, retry: WorkflowOptions['retry']): RetryPolicy | null {
  if (retry === undefined) return null
  if (typeof retry !== 'object' || retry === null) {
    throw new InvalidArgumentError(
      `The retry of workflow "${name}" is an object, e.g. { schedule: ['5m', '10m'] }.`,
    )
  }
  const { schedule, ...backoff } = retry
  const options: RetryOptions = schedule === undefined ? backoff : { ...backoff, retrySchedule: schedule }
  return compileRetry(options, `The retry of workflow "${name}"`, NO_RETRY)
}

function duration(value: Duration | undefined, what: string): number | null {
  return value === undefined ? null : parseDuration(value, what)
}
