import { defineWorkflow, PermanentError, type Workflow, type WorkflowContext } from '../index.ts'
import type { JobContext } from '../queues/adapter.ts'
import { Slots } from '../queues/slots.ts'
import type { RunnerWorkflow } from './api.ts'

const MINUTE = 60_000

/**
 * What `register` makes of a deferred kind: a workflow whose runs have no steps, and checkpoints instead. For tests, and
 * where such work is to be the child of a workflow.
 *
 * @example
 * const report = await crashEverywhere(deferredWorkflow(syncOrder), { orderId: 'A-1' })
 */
export function deferredWorkflow<Trigger, Output>({
  kind,
  prepare,
  retrySchedule = [],
  jitter,
  retention,
  retryIf,
  concurrency,
}: RunnerWorkflow<Trigger, Output>): Workflow<Trigger, Output> {
  const slots = new Slots(concurrency ?? Number.POSITIVE_INFINITY)
  const schedule = retrySchedule.map((minutes) => minutes * MINUTE)
  return defineWorkflow(
    {
      name: kind,
      retry: { schedule, ...(jitter !== undefined && { jitter }) },
      ...(retention !== undefined && { retention }),
    },
    async ({ input, run, signal }: WorkflowContext<Trigger>) => {
      const save = (patch: Readonly<Record<string, unknown>>): Promise<void> => run.save(patch)
      try {
        return await slots.use(signal, () =>
          prepare(input, run.checkpoints, save, { id: run.id, attempt: run.attempt, signal }),
        )
      } catch (error) {
        throw isFinal(error, retryIf) ? asPermanent(error) : error
      }
    },
  )
}

/** A `retryIf` that fails does not hide the error that it was asked about: the schedule decides. */
function isFinal(error: unknown, retryIf: RunnerWorkflow['retryIf']): boolean {
  try {
    return retryIf?.(error) === false
  } catch {
    return false
  }
}

/** The error itself where it can be marked, so that it is kept as it is. */
function asPermanent(error: unknown): unknown {
  try {
    if (error instanceof Error) return Object.assign(error, { permanent: true })
  } catch {
    // Frozen, or `permanent` cannot be set.
  }
  return new PermanentError('The work failed, and retryIf says that it is not to be tried again.', {
    cause: error,
  })
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
