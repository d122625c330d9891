import type { Duration } from '../core/duration.ts'
import { InvalidArgumentError } from '../core/errors.ts'
import type { Engine } from '../engine/api.ts'
import { createEngine } from '../engine/engine.ts'
import type { Log } from '../ports/environment.ts'
import type { Store } from '../ports/store.ts'
import { callWorkflow } from './call-workflow.ts'
import { jobWorkflow } from './job-workflow.ts'

/** The options of {@link PerdureQueueService}. Durations: milliseconds, or text such as `'90s'`. */
export interface PerdureQueueOptions {
  /** Where jobs live. */
  readonly store: Store
  /** How many jobs may run at once in this process. Default: 100. */
  readonly concurrency?: number
  /** How long jobs that have ended, and their ids, are kept. Default: 24 hours. */
  readonly retention?: Duration
  /** After this time without a sign of life a worker counts as dead, and its jobs go to others. Default: 15 seconds. */
  readonly lease?: Duration
  /** How often an idle worker looks into the store. Default: the engine's. */
  readonly pollInterval?: Duration
  /** Leave the store open when the service is closed, because others use it too. Default: `false`. */
  readonly keepStoreOpen?: boolean
  /** Default: warnings and errors to standard error. */
  readonly log?: Log
}

/** The engine that executes Pikku's jobs and calls, as runs of two workflows. */
export function jobEngine(options: PerdureQueueOptions): Engine {
  const { store, retention, lease, pollInterval, keepStoreOpen, log } = options
  if (typeof store !== 'object' || store === null || !('commit' in store)) {
    throw new InvalidArgumentError('PerdureQueueService needs a store, e.g. { store: sqlite("app.db") }.')
  }
  return createEngine({
    store,
    workflows: [jobWorkflow, callWorkflow],
    ...(retention !== undefined && { retention }),
    ...(lease !== undefined && { lease }),
    ...(pollInterval !== undefined && { pollInterval }),
    ...(keepStoreOpen !== undefined && { keepStoreOpen }),
    ...(log !== undefined && { log }),
  })
}
