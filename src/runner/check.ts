import { InvalidArgumentError, parseDuration } from '../index.ts'
import { checkJobType } from '../queues/job-id.ts'
import { wholeNumber } from '../queues/job-options.ts'
import type { RunnerOptions, RunnerWorkflow } from './api.ts'

const MINUTE = 60_000
const DEFAULT_RETENTION = 24 * 60 * MINUTE

/** @throws InvalidArgumentError, InvalidDurationError: each message names the kind. InvalidNameError: it is no kind. */
export function checkKind<Trigger, Output>(
  workflow: RunnerWorkflow<Trigger, Output>,
): RunnerWorkflow<Trigger, Output> {
  const { kind, dedupeKey, prepare, retrySchedule, retryIf, retention, concurrency } = workflow ?? {}
  if (typeof kind !== 'string' || kind.trim() === '') {
    const given = typeof kind === 'string' ? 'blank text' : `what is of type ${typeof kind}`
    throw new InvalidArgumentError(`register() needs a kind: a name, not ${given}.`)
  }
  const refuse = (what: string): never => {
    throw new InvalidArgumentError(`Kind "${kind}": ${what}`)
  }
  if (typeof dedupeKey !== 'function') refuse('dedupeKey is a function that makes a text of the trigger.')
  if (typeof prepare !== 'function') refuse('prepare is a function that does the work.')
  if (retryIf !== undefined && typeof retryIf !== 'function') refuse('retryIf is a function of an error.')
  if (concurrency !== undefined)
    wholeNumber(concurrency, `Kind "${kind}": concurrency`, 1, Number.MAX_SAFE_INTEGER)
  const retentionMs =
    retention === undefined ? DEFAULT_RETENTION : parseDuration(retention, `Kind "${kind}": retention`)
  if (retrySchedule === undefined) {
    checkJobType(kind)
    return { ...workflow }
  }
  if (!Array.isArray(retrySchedule) || retrySchedule.length === 0) {
    return refuse(
      'retrySchedule is a list of at least one number of minutes; leave it out for fire-and-forget.',
    )
  }
  for (const minutes of Array.from<unknown>(retrySchedule)) {
    if (typeof minutes !== 'number' || !Number.isFinite(minutes) || minutes <= 0)
      return refuse('retrySchedule holds minutes, finite and above 0.')
    if (minutes * MINUTE >= retentionMs) {
      refuse(
        `the retry after ${minutes} minutes would come after the retention of ${retentionMs / MINUTE} minutes.`,
      )
    }
  }
  return { ...workflow, retrySchedule: [...retrySchedule] }
}

/** @throws InvalidArgumentError */
export function checkOptions(options: RunnerOptions): RunnerOptions {
  const { engine, queueAdapter, sweepIntervalMs } = options ?? {}
  if (typeof engine?.startWorkflow !== 'function' || typeof engine.sweep !== 'function') {
    throw new InvalidArgumentError(
      'A runner needs an engine: new WorkflowRunner({ engine: createEngine(…) }).',
    )
  }
  if (queueAdapter !== undefined && typeof queueAdapter?.process !== 'function') {
    throw new InvalidArgumentError('queueAdapter is what createQueueAdapter returns.')
  }
  const interval: unknown = sweepIntervalMs ?? 1
  if (typeof interval !== 'number' || !Number.isFinite(interval) || interval <= 0) {
    throw new InvalidArgumentError('sweepIntervalMs is a number of milliseconds above 0.')
  }
  return options
}
