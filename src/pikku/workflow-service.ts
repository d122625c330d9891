import type { SerializedError } from '@pikku/core'
import { getSingletonServices } from '@pikku/core/ecosystem'
import type { QueueService } from '@pikku/core/queue'
import type { PikkuRPC } from '@pikku/core/rpc'
import { WorkflowCancelledException, type WorkflowRun, type WorkflowStatus } from '@pikku/core/workflow'
import { StepClaimError } from './errors.ts'
import { currentExecution, Execution, within } from './execution.ts'
import { stepRecordId } from './ids.ts'
import type { PerdureWorkflowOptions } from './options.ts'
import { Recovery, type UndispatchedStep } from './recovery.ts'
import { hasEnded } from './run-log.ts'
import { maxAttempts, type StepRecord } from './step-log.ts'
import { StoredWorkflowService } from './stored-service.ts'

const LONGEST_DELAY_IN_LEASES = 4

/** A step as its job names it. */
interface StepJob {
  readonly runId: string
  readonly stepName: string
  readonly rpcName: string
  readonly data: unknown
}

/**
 * Pikku's workflow service on a Perdure store: SQLite, PostgreSQL, MongoDB or memory.
 *
 * A step has at most one worker at a time, also when its job is delivered twice; one whose worker died is done by another
 * one; what comes too late from a worker that was taken for dead is refused. A run that has ended is not executed again.
 *
 * @throws InvalidArgumentError, InvalidDurationError for options that cannot be used
 * @example
 * const workflowService = new PerdureWorkflowService({ store: postgres(process.env.DATABASE_URL) })
 */
export class PerdureWorkflowService extends StoredWorkflowService {
  readonly #recovery: Recovery
  /** How often the work on something was put off here, one time after the other. */
  readonly #delays = new Map<string, number>()

  constructor(options: PerdureWorkflowOptions) {
    super(options)
    this.#recovery = new Recovery(this.records, this.held, this.runLocks)
  }

  /**
   * One tick of a run, under its lock from the beginning: Pikku asks for the lock when it has already begun to replay, and
   * two ticks in one process would count each other's steps. A run that has ended only tells its parent so: whoever ended
   * it may have died before.
   */
  override async runWorkflowJob(runId: string, rpcService: PikkuRPC): Promise<void> {
    const execution = new Execution(runId, false)
    let wasSuspended = false
    const tick = async (): Promise<void> => {
      const run = await this.getRun(runId)
      if (run !== null && hasEnded(run.status)) return await this.#tellParent(run)
      wasSuspended = run?.status === 'suspended'
      await super.runWorkflowJob(runId, rpcService)
    }
    try {
      await within(execution, () => this.runLocks.with(runId, tick))
      this.#delays.delete(runId)
    } catch (error) {
      if (execution.refusal !== null) {
        await this.#tickLater(runId)
        throw execution.refusal
      }
      // An operator has cancelled it, before its function was called.
      const isCancelled = error instanceof WorkflowCancelledException && !execution.hasEnded
      if (isCancelled) await this.#tellParentOf(runId)
      if (wasSuspended) await this.#noteProgress(runId, error)
      throw error
    }
  }

  /** The job of a step. */
  override async executeWorkflowStep(
    runId: string,
    stepName: string,
    rpcName: string,
    data: unknown,
    rpcService: PikkuRPC,
  ): Promise<void> {
    const job = { runId, stepName, rpcName, data }
    if ((await this.#standOf(job)) !== 'open') return
    const execution = new Execution(runId, true)
    try {
      await within(execution, () => super.executeWorkflowStep(runId, stepName, rpcName, data, rpcService))
    } catch (error) {
      if (!(error instanceof StepClaimError)) throw error
    }
    // Somebody else was faster.
    if (execution.hasClaimed) this.#delays.delete(stepRecordId(runId, stepName))
    if (!execution.hasClaimed || execution.refusal !== null) await this.#standOf(job)
  }

  /** Nothing that belongs to an execution which has lost its run says how that run ended. */
  override async updateRunStatus(
    id: string,
    status: WorkflowStatus,
    output?: unknown,
    error?: SerializedError,
  ): Promise<void> {
    const execution = currentExecution()
    if (execution?.runId === id && execution.refusal !== null) return
    await super.updateRunStatus(id, status, output, error)
  }

  protected override async findStalledRunIds(before: Date, limit: number): Promise<string[]> {
    return await this.#recovery.stalledRuns(before, limit)
  }

  protected override async findUndispatchedSteps(before: Date, limit: number): Promise<UndispatchedStep[]> {
    return await this.#recovery.undispatchedSteps(before, limit)
  }

  /** What there is to do about a step. All but an open one is seen to. */
  async #standOf(job: StepJob): Promise<'open' | 'seen to'> {
    const { runId, stepName } = job
    const id = stepRecordId(runId, stepName)
    const [step] = await this.records.steps.readAll([id])
    const run = await this.getRun(runId)
    // Pikku itself says what is wrong with a step that does not exist.
    if (step === undefined || run === null) return 'open'
    if (hasEnded(run.status)) return 'seen to'
    if (isDone(step)) {
      // Whoever did it may have died before the run was told.
      await this.resumeWorkflow(runId)
      this.#delays.delete(id)
      return 'seen to'
    }
    if (await this.held.free(step)) return 'open'
    // The end of its child will be the end of the step.
    if (step.latest.childRunId === undefined) await this.#dispatchLater(step, job)
    return 'seen to'
  }

  /** The job may be the only one that is left when the worker that has the step dies: it comes again. */
  async #dispatchLater({ id, retries, retryDelay }: StepRecord, job: StepJob): Promise<void> {
    const options = {
      ...(retries !== undefined && { retries }),
      ...(retryDelay !== undefined && { retryDelay }),
    }
    const group = this.getJobGroup(job.rpcName)
    await this.#queue()?.add(this.getStepWorkerQueueName(job.rpcName), job, {
      ...this.resolveStepJobOptions(options),
      delay: this.#nextDelay(id),
      ...(group !== undefined && { group }),
    })
  }

  async #tickLater(runId: string): Promise<void> {
    if (this.#queue() !== null) await this.scheduleOrchestratorRetry(runId, this.#nextDelay(runId))
  }

  #nextDelay(id: string): number {
    const { leaseMs } = this.holdings
    const last = this.#delays.get(id)
    const delay = last === undefined ? leaseMs / 3 : Math.min(last * 2, leaseMs * LONGEST_DELAY_IN_LEASES)
    this.#delays.set(id, delay)
    return Math.ceil(delay)
  }

  /** A run that has passed the gate at which it was suspended is running, which recovery goes by. */
  async #noteProgress(runId: string, error: unknown): Promise<void> {
    if (!(error instanceof Error) || error.name !== 'WorkflowAsyncException') return
    const event = { type: 'status', status: 'running', output: undefined, error: undefined } as const
    await this.records.runs.append(runId, ({ run }) => (run.status === 'suspended' ? event : null))
  }

  async #tellParentOf(runId: string): Promise<void> {
    const run = await this.getRun(runId)
    if (run !== null && hasEnded(run.status)) await this.#tellParent(run)
  }

  async #tellParent(run: WorkflowRun): Promise<void> {
    const { parentRunId, parentStepId } = run.wire
    if (parentRunId === undefined || parentStepId === undefined || this.#queue() === null) return
    if (run.status !== 'completed') {
      return await this.onChildWorkflowFailed(run, new Error(run.error?.message ?? 'Child workflow failed'))
    }
    await this.setStepResult(parentStepId, run.output)
    await this.resumeWorkflow(parentRunId)
  }

  #queue(): QueueService | null {
    try {
      return getSingletonServices().queueService ?? null
    } catch {
      // Pikku is not set up yet.
      return null
    }
  }
}

/** Whether no further attempt will be made. */
function isDone(step: StepRecord): boolean {
  const { status, number } = step.latest
  return status === 'succeeded' || (status === 'failed' && number >= maxAttempts(step))
}
