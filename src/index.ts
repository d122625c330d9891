// Defining and running workflows.

export { decodeValue } from './core/codec.ts'
// Vocabulary.
export { type Duration, formatDuration, parseDuration } from './core/duration.ts'
export { decodeError } from './core/error-codec.ts'
// Errors.
export * from './core/errors.ts'
export { isPermanentHttpError, retryUnlessPermanent } from './core/http-error.ts'
export type { Backoff, RetryOptions } from './core/retry.ts'
export { RUN_STATUSES, type RunRecord, type RunStatus } from './core/run.ts'
export type {
  Engine,
  EngineOptions,
  ForkOptions,
  RunHandle,
  StartOptions,
  WorkOptions,
} from './engine/api.ts'
export { declareWorkflow, defineWorkflow, type WorkflowOptions } from './engine/define.ts'
export { createEngine } from './engine/engine.ts'
export { consoleLog, systemEnvironment } from './engine/environment.ts'
export type { History, HistoryAttempt, HistoryEntry } from './engine/history.ts'
export type {
  CallOptions,
  ChildOptions,
  RegisteredFunction,
  RunControl,
  Step,
  StepContext,
  StepOptions,
  Workflow,
  WorkflowContext,
  WorkflowFunction,
} from './engine/workflow.ts'

// For those who bring their own store, notifier or environment.
export type { Environment, Log } from './ports/environment.ts'
export type { Hint, Notifier } from './ports/notifier.ts'
export type { EngineEvent, Observer } from './ports/observer.ts'
export type * from './ports/store.ts'
