import type { WorkflowQueueOptions, WorkflowRunMirror } from '@pikku/core/workflow'
import { type Duration, parseDuration } from '../core/duration.ts'
import { InvalidArgumentError } from '../core/errors.ts'
import type { Log } from '../ports/environment.ts'
import type { Store } from '../ports/store.ts'

/** The options of {@link PerdureWorkflowService}. Durations: milliseconds, or text such as `'90s'`. */
export interface PerdureWorkflowOptions extends WorkflowQueueOptions {
  /** Where runs and steps live: `sqlite('app.db')`, `postgres(url)`, … */
  readonly store: Store
  /** How long runs that have ended are kept. Default: 30 days. */
  readonly retention?: Duration
  /** After this time without a sign of life a worker counts as dead, and others do its work. Default: 15 seconds. */
  readonly lease?: Duration
  /** Leave the store open when the service is closed, because others use it too. Default: `false`. */
  readonly keepStoreOpen?: boolean
  /** What the service itself has to say. Default: warnings and errors to standard error. */
  readonly log?: Log
  /** Pikku's own option: bind the functions of workflows to their queues. Default: `true`. */
  readonly wireQueues?: boolean
  /** Pikku's own option: is told of every write. */
  readonly mirror?: WorkflowRunMirror
}

/** The durations of the options, in ms. @throws InvalidArgumentError, InvalidDurationError */
export function timesOf({ store, retention = '30d', lease = '15s' }: PerdureWorkflowOptions): {
  readonly retention: number
  readonly lease: number
} {
  if (typeof store !== 'object' || store === null || !('commit' in store)) {
    throw new InvalidArgumentError('PerdureWorkflowService needs a store, e.g. { store: sqlite("app.db") }.')
  }
  return {
    retention: parseDuration(retention, 'The option retention'),
    lease: Math.max(100, parseDuration(lease, 'The option lease')),
  }
}
