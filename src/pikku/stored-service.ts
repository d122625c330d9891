import type { SerializedError } from '@pikku/core'
import { getSingletonServices } from '@pikku/core/ecosystem'
import { ConsoleLogger, type Logger } from '@pikku/core/services'
import {
  PikkuWorkflowService,
  type StepState,
  type StepStatus,
  type WorkflowPlannedStep,
  type WorkflowRun,
  type WorkflowRunService,
  type WorkflowRunWire,
  type WorkflowStatus,
  type WorkflowStepOptions,
  type WorkflowVersionStatus,
} from '@pikku/core/workflow'
import { isTerminal } from '../core/run.ts'
import { Backing } from './backing.ts'
import { currentExecution } from './execution.ts'
import { type GraphState, graphStateOf } from './graph-state.ts'
import { HeldSteps, writingExecution } from './held-steps.ts'
import { Holdings } from './holdings.ts'
import { parseStepId, RUN, stepRecordId } from './ids.ts'
import { Locks } from './locks.ts'
import { type PerdureWorkflowOptions, timesOf } from './options.ts'
import { Records, serializedError } from './records.ts'
import { newRunId } from './run-ids.ts'
import { RunLocks } from './run-locks.ts'
import { hasEnded, type StatusEvent } from './run-log.ts'
import { isBetweenAttempts, type StepRecord, stateOf } from './step-log.ts'
import { Versions } from './versions.ts'

type NamedStep = StepState & { stepName: string }
type VersionedGraph = { graph: unknown; source: string }
type RunOptions = { deterministic?: boolean; plannedSteps?: WorkflowPlannedStep[] }
type Instance = { stepName: string; status: StepStatus; fromStepName?: string }

/** What Pikku reads and writes, on a store. */
export abstract class StoredWorkflowService extends PikkuWorkflowService implements WorkflowRunService {
  protected readonly backing: Backing
  protected readonly holdings: Holdings
  protected readonly records: Records
  protected readonly held: HeldSteps
  protected readonly runLocks: RunLocks
  readonly #locks: Locks
  readonly #versions: Versions
  readonly #keepStoreOpen: boolean

  constructor(options: PerdureWorkflowOptions) {
    const { store, log, keepStoreOpen = false, retention: _, lease: __, ...pikkuOptions } = options
    super(pikkuOptions)
    const times = timesOf(options)
    this.backing = new Backing(store, log)
    this.holdings = new Holdings(this.backing, times.lease)
    this.records = new Records(this.backing, times.retention)
    this.held = new HeldSteps(this.records, this.holdings)
    this.#locks = new Locks(this.backing, this.holdings)
    this.runLocks = new RunLocks(this.records, this.holdings, this.#locks)
    this.#versions = new Versions(this.backing)
    this.#keepStoreOpen = keepStoreOpen
  }

  /** Services are made before Pikku has a logger, and Pikku warns while this one is made. */
  protected override get logger(): Logger {
    try {
      return getSingletonServices().logger
    } catch {
      return new ConsoleLogger()
    }
  }

  protected async createRunImpl(
    workflow: string,
    input: unknown,
    inline: boolean,
    graphHash: string,
    wire: WorkflowRunWire,
    { deterministic, plannedSteps }: RunOptions = {},
  ): Promise<string> {
    const id = await newRunId(this.records, { workflow, input, wire })
    const worker = await this.holdings.identity()
    const run = { workflow, input, inline, graphHash, wire, deterministic, plannedSteps }
    await this.records.createRun(id, run, worker)
    return id
  }

  async getRun(id: string): Promise<WorkflowRun | null> {
    return (await this.records.runs.read(id))?.run ?? null
  }

  async getRunHistory(runId: string): Promise<NamedStep[]> {
    const steps = await this.records.stepsOf(runId)
    const attempts = steps.flatMap((step) => step.attempts.map((attempt) => stateOf(step, attempt)))
    return attempts.sort((a, b) => +a.createdAt - +b.createdAt)
  }

  protected async updateRunStatusImpl(
    id: string,
    status: WorkflowStatus,
    output?: unknown,
    error?: SerializedError,
  ): Promise<void> {
    const execution = writingExecution(this.holdings)
    const lock = execution?.lock?.id === id ? execution.lock : null
    if (status === 'running') await this.#revive(id)
    const event: StatusEvent = { type: 'status', status, output, error }
    const appended = await this.records.runs.append(id, ({ run, record }) => {
      if (lock !== null && (record.fence !== lock.fence || record.owner !== lock.worker)) {
        throw execution?.refuse('CLAIM_LOST', `The lock of run ${id} was lost.`)
      }
      // The first end is the end; but one that was no success may be set back.
      const isLate = hasEnded(run.status) && (status !== 'running' || run.status === 'completed')
      return isLate || (status === 'running' && run.status === 'running') ? null : event
    })
    if (appended === null || !hasEnded(appended.state.run.status)) return
    if (execution?.runId === id) execution.hasEnded = true
    // Whoever has the lock ends the record when letting go of it.
    if (lock === null && !isTerminal(appended.state.record.status)) await this.runLocks.settle(id)
  }

  protected async insertStepStateImpl(
    runId: string,
    stepName: string,
    rpcName: string | null,
    data: unknown,
    options: WorkflowStepOptions = {},
    fromStepName?: string,
  ): Promise<StepState> {
    const execution = writingExecution(this.holdings)
    if (execution?.runId === runId && execution.hasEnded) {
      throw execution.refuse('CLAIM_LOST', `Run ${runId} has ended; it begins no more steps.`)
    }
    const { retries, retryDelay } = options
    return stateOf(
      await this.records.createStep({ runId, stepName, rpcName, data, retries, retryDelay, fromStepName }),
    )
  }

  async getStepState(runId: string, stepName: string): Promise<StepState> {
    const step = await this.records.steps.read(stepRecordId(runId, stepName))
    if (step !== null) return stateOf(step)
    throw new Error(`Step not found: runId=${runId}, stepName=${stepName}. Use insertStepState to create it.`)
  }

  protected async setStepRunningImpl(stepId: string): Promise<void> {
    await this.held.claim(stepId)
  }

  /** A job may be faster than the note that it is on its way: then there is nothing to note any more. */
  protected async setStepScheduledImpl(stepId: string): Promise<void> {
    await this.held.note(stepId, ({ status, number }) =>
      status === 'pending' ? { type: 'scheduled', attempt: number } : null,
    )
  }

  protected async setStepResultImpl(stepId: string, value: unknown): Promise<void> {
    await this.held.settle(stepId, { type: 'result', value })
  }

  protected async setStepErrorImpl(stepId: string, error: Error): Promise<void> {
    await this.held.settle(stepId, { type: 'error', error: serializedError(error) })
  }

  protected async setStepChildRunIdImpl(stepId: string, childRunId: string): Promise<void> {
    await this.held.note(stepId, (attempt) =>
      attempt.childRunId === childRunId ? null : { type: 'child', attempt: attempt.number, childRunId },
    )
  }

  protected async createRetryAttemptImpl(stepId: string, status: 'pending' | 'running'): Promise<StepState> {
    return await this.held.retry(stepId, status)
  }

  protected async setBranchTakenImpl(stepId: string, key: string): Promise<void> {
    await this.held.note(stepId, ({ number }) => ({ type: 'branch', attempt: number, key }))
  }

  async withRunLock<Value>(id: string, call: () => Promise<Value>): Promise<Value> {
    return await this.runLocks.with(id, call)
  }

  async withStepLock<Value>(runId: string, stepName: string, call: () => Promise<Value>): Promise<Value> {
    return await this.#locks.with(['step', runId, stepName], call)
  }

  async getCompletedGraphState(runId: string): Promise<GraphState> {
    return graphStateOf(await this.records.stepsOf(runId))
  }

  async getStepInstances(runId: string): Promise<Instance[]> {
    return (await this.records.stepsOf(runId)).map(({ stepName, latest, fromStepName }) => ({
      stepName,
      status: latest.status,
      ...(fromStepName !== undefined && { fromStepName }),
    }))
  }

  async getNodeResults(runId: string, nodeIds: string[]): Promise<Record<string, unknown>> {
    const steps = await this.records.steps.readAll(nodeIds.map((nodeId) => stepRecordId(runId, nodeId)))
    const done = steps.filter(({ latest }) => latest.result !== undefined)
    return Object.fromEntries(done.map(({ stepName, latest }) => [stepName, latest.result]))
  }

  /**
   * What a replay goes by. A step that has failed and that its job will try again is on its way, not failed: else
   * another branch of the run that goes on meanwhile would take it for its end.
   */
  protected override async listStepStates(runId: string): Promise<NamedStep[]> {
    return (await this.records.stepsOf(runId)).map((step) => ({
      ...stateOf(step),
      ...(isBetweenAttempts(step) && { status: 'scheduled' as const }),
    }))
  }

  protected async updateRunStateImpl(runId: string, name: string, value: unknown): Promise<void> {
    await this.records.runs.append(runId, () => ({ type: 'state', name, value }))
  }

  async getRunState(runId: string): Promise<Record<string, unknown>> {
    return { ...(await this.records.runs.read(runId))?.data }
  }

  protected async upsertWorkflowVersionImpl(
    name: string,
    graphHash: string,
    graph: unknown,
    source: string,
    status?: WorkflowVersionStatus,
  ): Promise<void> {
    await this.#versions.add(name, graphHash, { graph, source, status: status ?? 'active' })
  }

  protected async updateWorkflowVersionStatusImpl(
    name: string,
    graphHash: string,
    status: WorkflowVersionStatus,
  ): Promise<void> {
    await this.#versions.setStatus(name, graphHash, status)
  }

  async getWorkflowVersion(name: string, graphHash: string): Promise<VersionedGraph | null> {
    return await this.#versions.get(name, graphHash)
  }

  /** Runs, newest first. */
  async listRuns(
    options: { workflowName?: string; status?: string; limit?: number; offset?: number } = {},
  ): Promise<WorkflowRun[]> {
    const { workflowName, status, limit = Number.POSITIVE_INFINITY, offset = 0 } = options
    const found: WorkflowRun[] = []
    for await (const run of this.records.runsOf(workflowName)) {
      if (status === undefined || run.status === status) found.push(run)
      if (found.length >= offset + limit) break
    }
    return found.slice(offset, offset + limit)
  }

  async getRunSteps(runId: string): Promise<(NamedStep & { rpcName?: string; data?: unknown })[]> {
    const steps = await this.records.stepsOf(runId)
    return steps.flatMap((step) =>
      step.attempts.map((attempt) => {
        const { rpcName, ...state } = stateOf(step, attempt)
        return { ...state, data: step.data, ...(typeof rpcName === 'string' && { rpcName }) }
      }),
    )
  }

  async getDistinctWorkflowNames(): Promise<string[]> {
    const names = new Set<string>()
    for await (const { workflow } of this.records.runsOf()) names.add(workflow)
    return [...names]
  }

  /** Deletes a run with its steps; one that is being executed first comes to the end of its tick. */
  async deleteRun(id: string): Promise<boolean> {
    const record = await this.backing.readOne(id)
    if (record?.run?.workflow !== RUN) return false
    await this.runLocks.delete(id)
    return true
  }

  /** Lets go of what this process holds, and closes the store unless told otherwise. */
  async close(): Promise<void> {
    this.held.close()
    await this.holdings.close()
    await this.backing.close()
    if (!this.#keepStoreOpen) await this.backing.store.close()
  }

  /** The step that an attempt belongs to. */
  protected async stepOf(stepId: string): Promise<StepRecord | null> {
    const parsed = parseStepId(stepId)
    return parsed === null ? null : await this.records.steps.read(parsed.recordId)
  }

  /** Opens the records of a run again that has failed or was cancelled, and of its steps. */
  async #revive(id: string): Promise<void> {
    const log = await this.records.runs.read(id)
    if (log === null || !isTerminal(log.record.status) || log.record.status === 'completed') return
    const steps = await this.records.stepsOf(id)
    const ids = [id, ...steps.map((step) => step.id)]
    await this.backing.commit(ids.map((runId) => ({ type: 'control', action: 'revive', runId }) as const))
    const execution = currentExecution()
    if (execution?.runId === id) execution.hasEnded = false
  }
}
