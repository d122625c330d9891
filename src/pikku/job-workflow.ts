import { type JobOptions, QueueJobDiscardedError, runQueueJob } from '@pikku/core/queue'
import { PermanentError } from '../core/errors.ts'
import { defineWorkflow } from '../engine/define.ts'
import type { StepOptions, Workflow, WorkflowContext } from '../engine/workflow.ts'

/** A job, as it is kept. */
export interface JobInput {
  readonly jobId: string
  readonly queue: string
  readonly data: unknown
  /** Who asked for it, as Pikku has signed it. */
  readonly pikkuUserId: string | undefined
  readonly attempts: number
  readonly backoff: JobOptions['backoff']
}

/** The step in which the job's function is called: its attempts are the job's. */
export const JOB_STEP = 'job'
/** The checkpoint that keeps a job's progress. */
const PROGRESS = 'progress'

const FIRST_DELAY_MS = 1000
const LONGEST_DELAY = '1h'

/** A job of Pikku's is a run of this workflow. */
export const jobWorkflow: Workflow<JobInput, unknown> = defineWorkflow(
  { name: 'pikku:job' },
  async ({ input, step, run }: WorkflowContext<JobInput>) => {
    const { jobId, queue, data, pikkuUserId } = input
    const identity = pikkuUserId === undefined ? {} : { pikkuUserId }
    return await step.do(
      JOB_STEP,
      async () => {
        const job = { id: jobId, queueName: queue, data, status: () => 'active' as const, ...identity }
        const updateProgress = (progress: unknown): Promise<void> => run.save({ [PROGRESS]: progress })
        return await runQueueJob({ job, updateProgress }).catch(refuseDiscarded)
      },
      retriesOf(input),
    )
  },
)

/** A job that its function has discarded is not tried again. */
function refuseDiscarded(error: unknown): never {
  if (!(error instanceof QueueJobDiscardedError)) throw error
  throw new PermanentError(error.message, { cause: error })
}

function retriesOf({ attempts, backoff }: JobInput): StepOptions {
  const retries = attempts - 1
  if (retries <= 0) return { retries: 0 }
  const { type, delay = FIRST_DELAY_MS } = typeof backoff === 'object' ? backoff : { type: backoff }
  if (type === undefined) return { retries, retryDelay: 0 }
  return { retries, retryDelay: type === 'exponential' ? { initial: delay, max: LONGEST_DELAY } : delay }
}
