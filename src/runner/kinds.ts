import { defineWorkflow, PermanentError, type Workflow, type WorkflowContext } from '../index.ts'
import type { JobContext } from '../queues/adapter.ts'
import type { RunnerWorkflow } from './api.ts'

const MINUTE = 60_000

/** Deferred work as a workflow: a run without steps, whose journal holds its checkpoints. */
export function deferredWorkflow({
  kind,
  prepare,
  retrySchedule = [],
  jitter,
  retention,
}: RunnerWorkflow): Workflow {
  const schedule = retrySchedule.map((minutes) => minutes * MINUTE)
  return defineWorkflow(
    {
      name: kind,
      retry: { schedule, ...(jitter !== undefined && { jitter }) },
      ...(retention !== undefined && { retention }),
    },
    async ({ input, run, signal }: WorkflowContext) => {
      const save = (patch: Readonly<Record<string, unknown>>): Promise<void> => run.save(patch)
      return await prepare(input, run.checkpoints, save, { id: run.id, attempt: run.attempt, signal })
    },
  )
}

/** Fire-and-forget work as the handler of a queue adapter. */
export function fireAndForgetHandler({ kind, prepare }: RunnerWorkflow) {
  const save = async (): Promise<never> => {
    throw new PermanentError(
      `"${kind}" is fire-and-forget, which keeps no checkpoints. Give it a retrySchedule.`,
    )
  }
  return async (trigger: unknown, { id, attempt, signal }: JobContext): Promise<unknown> => {
    return await prepare(trigger, {}, save, { id, attempt, signal })
  }
}
