// Deferred and fire-and-forget work, deduplicated by a key.

export type { EnqueueOptions, Prepare, PrepareContext, RunnerOptions, RunnerWorkflow } from './api.ts'
export { deferredWorkflow } from './kinds.ts'
export { WorkflowRunner } from './runner.ts'
