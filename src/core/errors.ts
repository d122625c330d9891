/**
 * Every error that Perdure raises. All share one base class and carry a stable `code`; their messages
 * say what to do next. Catch them by class or, where two copies of the package may be loaded, by `code`.
 */

import { describe, errorBrand } from './describe.ts'

/** Options that every Perdure error takes. */
export interface PerdureErrorOptions {
  /** What led to this error. */
  readonly cause?: unknown
}

/**
 * The base class of all errors of this package.
 *
 * @example
 * try { await engine.startWorkflow('nope', {}) } catch (error) {
 *   if (error instanceof PerdureError && error.code === 'UNKNOWN_WORKFLOW') …
 * }
 */
export class PerdureError extends Error {
  /** Stable, upper-case identifier of the kind of error. */
  readonly code: string

  constructor(code: string, message: string, options: PerdureErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.code = code
    Object.defineProperty(this, errorBrand, { value: true, enumerable: false })
  }
}

/** Whether `value` is an error of this package, of whichever copy of it. */
export function isPerdureError(value: unknown): value is PerdureError {
  try {
    return typeof value === 'object' && value !== null && errorBrand in value
  } catch {
    // A revoked proxy.
    return false
  }
}

/** An argument has the wrong type or shape; nothing was written. */
export class InvalidArgumentError extends PerdureError {
  constructor(message: string, options?: PerdureErrorOptions) {
    super('INVALID_ARGUMENT', message, options)
  }
}

/** A duration could not be read; the message lists the accepted forms. */
export class InvalidDurationError extends PerdureError {
  constructor(message: string) {
    super('INVALID_DURATION', message)
  }
}

/** A name, key or id is empty, too long, or not well-formed text. */
export class InvalidNameError extends PerdureError {
  constructor(message: string) {
    super('INVALID_NAME', message)
  }
}

/** An input was refused by the workflow's schema. `issues` holds what the schema reported. */
export class InvalidInputError extends PerdureError {
  readonly issues: readonly unknown[]
  constructor(message: string, issues: readonly unknown[] = []) {
    super('INVALID_INPUT', message)
    this.issues = issues
  }
}

/** A value cannot be stored: the message names the path to the part that cannot. */
export class UnserializableValueError extends PerdureError {
  constructor(message: string, options?: PerdureErrorOptions) {
    super('UNSERIALIZABLE_VALUE', message, options)
  }
}

/** An encoded value is larger than the limit. */
export class ValueTooLargeError extends PerdureError {
  constructor(message: string) {
    super('VALUE_TOO_LARGE', message)
  }
}

/** A run would exceed the number of journal entries that one run may have. */
export class JournalLimitError extends PerdureError {
  constructor(message: string) {
    super('JOURNAL_LIMIT', message)
  }
}

/** No workflow or function of that name is registered in this engine. */
export class UnknownWorkflowError extends PerdureError {
  constructor(message: string) {
    super('UNKNOWN_WORKFLOW', message)
  }
}

/** Two definitions share a name and a version. */
export class DuplicateWorkflowError extends PerdureError {
  constructor(message: string) {
    super('DUPLICATE_WORKFLOW', message)
  }
}

/** No run has this id. It may have been pruned after its retention. */
export class RunNotFoundError extends PerdureError {
  constructor(runId: string) {
    super(
      'RUN_NOT_FOUND',
      `No run has the id ${JSON.stringify(runId)}; it may have been pruned after its retention.`,
    )
  }
}

/** A run's state does not allow the request, e.g. an event sent to a run that has ended. */
export class RunStateError extends PerdureError {
  constructor(message: string) {
    super('RUN_STATE', message)
  }
}

/** `onConflict: 'reject'`: another run holds the key (or the id). */
export class RunConflictError extends PerdureError {
  /** The run that holds the key. */
  readonly runId: string
  constructor(message: string, runId: string) {
    super('RUN_CONFLICT', message)
    this.runId = runId
  }
}

/** The code asks for other steps than the journal holds. The run is paused until the code fits again. */
export class NonDeterminismError extends PerdureError {
  constructor(message: string) {
    super('NON_DETERMINISM', message)
  }
}

/** `handle.result()` of a run that failed: `cause` is the run's own error. */
export class RunFailedError extends PerdureError {
  readonly runId: string
  constructor(runId: string, workflow: string, cause: unknown) {
    super('RUN_FAILED', `Run ${runId} of workflow "${workflow}" failed: ${describe(cause)}`, { cause })
    this.runId = runId
  }
}

/** The run was cancelled. Inside a workflow it is thrown once, so that `finally` can clean up. */
export class RunCancelledError extends PerdureError {
  readonly reason: string | undefined
  constructor(message: string, reason?: string) {
    super('RUN_CANCELLED', message)
    this.reason = reason
  }
}

/** A child run was cancelled while its parent waited for it; the parent itself was not. */
export class ChildCancelledError extends PerdureError {
  readonly runId: string
  constructor(message: string, runId: string) {
    super('CHILD_CANCELLED', message)
    this.runId = runId
  }
}

/** One attempt of a step took longer than its `timeout`. The attempt counts; retries apply. */
export class StepTimeoutError extends PerdureError {
  constructor(message: string) {
    super('STEP_TIMEOUT', message)
  }
}

/** The run took longer than its `timeout`. */
export class RunTimeoutError extends PerdureError {
  constructor(message: string) {
    super('RUN_TIMEOUT', message)
  }
}

/** Waiting for something took longer than the caller allowed. The thing itself goes on. */
export class WaitTimeoutError extends PerdureError {
  constructor(message: string) {
    super('WAIT_TIMEOUT', message)
  }
}

/** An `atMostOnce` step was interrupted after it had started; whether it took effect is unknown. */
export class StepInterruptedError extends PerdureError {
  constructor(message: string) {
    super('STEP_INTERRUPTED', message)
  }
}

/** A step was used inside the body of another step. */
export class NestedStepError extends PerdureError {
  constructor(message: string) {
    super('NESTED_STEP', message)
  }
}

/** The run's workers died too often while they executed it. */
export class PoisonedRunError extends PerdureError {
  constructor(message: string) {
    super('POISONED_RUN', message)
  }
}

/** This worker's claim on the run is over; whatever it still does for the run will be refused. */
export class ClaimLostError extends PerdureError {
  constructor(message: string) {
    super('CLAIM_LOST', message)
  }
}

/** The engine is closed or shutting down. */
export class EngineClosedError extends PerdureError {
  constructor(message = 'This engine is closed. Create a new one to go on.') {
    super('ENGINE_CLOSED', message)
  }
}

/** What a store failure means for the caller. */
export type StoreFailure =
  | 'unavailable'
  | 'full'
  | 'read-only'
  | 'corrupt'
  | 'newer-schema'
  | 'missing-driver'

/** The store could not do what it was asked. Never recorded as a run's failure. */
export class StoreError extends PerdureError {
  readonly failure: StoreFailure
  constructor(failure: StoreFailure, message: string, options?: PerdureErrorOptions) {
    super(`STORE_${failure.toUpperCase().replaceAll('-', '_')}`, message, options)
    this.failure = failure
  }
}

/**
 * Throw it to say that trying again is pointless: no further attempt of the step or run is made.
 * Any error with `permanent: true` has the same effect.
 *
 * @example throw new PermanentError('The card was refused.')
 */
export class PermanentError extends PerdureError {
  readonly permanent = true
  constructor(message: string, options?: PerdureErrorOptions) {
    super('PERMANENT', message, options)
  }
}

/**
 * Throw it to choose the delay before the next attempt, e.g. from a `Retry-After` header. It still uses
 * up an attempt.
 *
 * @example throw new RetryAfterError('30s', 'The API asked for a pause.')
 */
export class RetryAfterError extends PerdureError {
  /** The delay as given: milliseconds or a duration such as `'30s'`. */
  readonly retryAfter: number | string
  constructor(retryAfter: number | string, message = 'Try again later.', options?: PerdureErrorOptions) {
    super('RETRY_AFTER', message, options)
    this.retryAfter = retryAfter
  }
}
