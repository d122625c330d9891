import { encodeValue } from '../core/codec.ts'
import { parseDuration } from '../core/duration.ts'
import { InvalidArgumentError } from '../core/errors.ts'
import { checkName, checkTags } from '../core/names.ts'
import { compileRetry, NO_RETRY } from '../core/retry.ts'
import type { CallPolicy, NewRun, RunPolicy, RunRecord } from '../core/run.ts'
import type { BodyPolicy, EngineConfig } from './config.ts'
import { DEFAULT_QUEUE } from './define.ts'
import type { CallOptions, ChildOptions, StepOptions, Workflow } from './workflow.ts'

/** The step of a run that starts another. */
export interface ParentStep {
  readonly run: RunRecord
  readonly key: string
  readonly now: number
}

/** Encodes an input, refusing what is too large or cannot be stored. */
export function encodeInput(workflow: string, input: unknown, config: EngineConfig): string {
  return encodeValue(input, { what: `The input of "${workflow}"`, maxBytes: config.maxValueBytes })
}

/** The policies that a workflow's runs get, if their start names no others. */
export function policyOf(workflow: Workflow, config: EngineConfig): RunPolicy {
  const { retry, timeout, retention } = workflow
  return { retry, timeout, retention: retention ?? config.retention, call: null }
}

/** Reads the options of a step with a body. */
export function bodyPolicy(options: StepOptions, what: string, config: EngineConfig): BodyPolicy {
  const { retryIf } = options
  if (retryIf !== undefined && typeof retryIf !== 'function') {
    throw new InvalidArgumentError(`retryIf of ${what} must be a function of the error.`)
  }
  return { ...callPolicy(options, what, config), retryIf: retryIf ?? null }
}

/** Reads the options of a step that calls a registered function. */
export function callPolicy(options: CallOptions, what: string, config: EngineConfig): CallPolicy {
  const { atMostOnce = false, timeout } = options
  const asksForRetries = options.retries !== undefined && options.retries > 0
  if (atMostOnce && (asksForRetries || options.retrySchedule !== undefined)) {
    throw new InvalidArgumentError(`${what} cannot be atMostOnce and have retries: choose one.`)
  }
  return {
    retry: atMostOnce ? NO_RETRY : compileRetry(options, what, config.retry),
    timeout: timeout === undefined ? null : parseDuration(timeout, `The timeout of ${what}`),
    atMostOnce,
  }
}

/** The run of a child workflow; its id is filled in when it is created. */
export function childRun(
  workflow: Workflow,
  input: unknown,
  options: ChildOptions,
  parent: ParentStep,
  config: EngineConfig,
): Omit<NewRun, 'id'> {
  const what = `child step "${parent.key}"`
  const own = policyOf(workflow, config)
  const { retries, retryDelay, retrySchedule, timeout } = options
  const asksForRetry = retries !== undefined || retryDelay !== undefined || retrySchedule !== undefined
  const policy = {
    ...own,
    retry: asksForRetry ? compileRetry(options, what, own.retry ?? NO_RETRY) : own.retry,
    timeout: timeout === undefined ? own.timeout : parseDuration(timeout, `The timeout of ${what}`),
  }
  const { name, version, queue } = workflow
  return {
    ...below(parent, options, queue),
    workflow: name,
    version,
    input: encodeInput(name, input, config),
    policy,
  }
}

/** The run of a registered function; any worker that has the function executes it. */
export function functionRun(
  name: string,
  data: unknown,
  options: CallOptions,
  parent: ParentStep,
  config: EngineConfig,
): Omit<NewRun, 'id'> {
  if ('retryIf' in options && options.retryIf !== undefined) {
    throw new InvalidArgumentError(
      `retryIf of step "${parent.key}" cannot be used with a registered function: another process runs it. Throw a ` +
        'PermanentError inside the function instead.',
    )
  }
  const call = callPolicy(options, `step "${parent.key}"`, config)
  const policy = { retry: null, timeout: null, retention: config.retention, call }
  const input = encodeInput(name, data, config)
  return { ...below(parent, options, DEFAULT_QUEUE), workflow: name, version: '', input, policy }
}

/** What a run started by a step has from its parent and the step's options. */
function below({ run, key, now }: ParentStep, options: ChildOptions, queue: string) {
  return {
    queue: options.queue === undefined ? queue : checkName(options.queue, 'A queue'),
    key: null,
    priority: options.priority === undefined ? run.priority : checkPriority(options.priority),
    tags: options.tags === undefined ? [] : checkTags(options.tags),
    dueAt: now,
    parentId: run.id,
    parentStep: key,
    entries: [],
  }
}

/** Checks a priority: a whole number from -1,000,000 to 1,000,000; higher goes first. */
export function checkPriority(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 1_000_000) return value
  throw new InvalidArgumentError(
    'A priority is a whole number from -1,000,000 to 1,000,000; higher goes first.',
  )
}
