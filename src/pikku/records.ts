import type { SerializedError } from '@pikku/core'
import { PikkuError } from '@pikku/core/errors'
import type { WorkflowRun } from '@pikku/core/workflow'
import type { RunRecord } from '../core/run.ts'
import type { RunFilter } from '../ports/store.ts'
import { type Backing, newRecord } from './backing.ts'
import { RUN, STEP, stepRecordId } from './ids.ts'
import { Ledger } from './ledger.ts'
import { type RunEvent, type RunInput, type RunLog, runKind } from './run-log.ts'
import { type StepEvent, type StepInput, type StepRecord, stepKind } from './step-log.ts'
import { encode } from './values.ts'

const PAGE = 200
const MAX_TAG_LENGTH = 85

/** The records of runs and steps, and their logs. */
export class Records {
  readonly backing: Backing
  readonly runs: Ledger<RunLog, RunEvent>
  readonly steps: Ledger<StepRecord, StepEvent>
  readonly #retention: number

  /** `retention`: how long what has ended is kept, in ms. */
  constructor(backing: Backing, retention: number) {
    this.backing = backing
    this.runs = new Ledger(backing, runKind)
    this.steps = new Ledger(backing, stepKind)
    this.#retention = retention
  }

  /** Creates a run, parked. One that exists is left as it is. */
  async createRun(id: string, input: RunInput, worker: string): Promise<void> {
    const dueAt = this.backing.env.now()
    // A name by which runs can be listed; what is too long for one is left out.
    const tags = input.workflow.length <= MAX_TAG_LENGTH ? [input.workflow] : []
    const run = newRecord({
      id,
      workflow: RUN,
      version: id,
      input: encode(input, `The input of workflow "${input.workflow}"`),
      dueAt,
      retention: this.#retention,
      tags,
    })
    await this.backing.commit([
      { type: 'create', run, claimedBy: worker },
      {
        ...{ entries: [], progress: false, children: [], deliveries: [], deliveriesIfCancelled: [] },
        ...{ cancels: [], consumed: [], type: 'advance', runId: id, worker, fence: 1, number: 1 },
        to: { status: 'waiting', dueAt, seen: 0 },
      },
    ])
  }

  /** Creates a step. One that exists is left as it is. */
  async createStep(input: StepInput): Promise<StepRecord> {
    const { runId, stepName } = input
    const id = stepRecordId(runId, stepName)
    const run = newRecord({
      id,
      workflow: STEP,
      version: runId,
      input: encode(input, `The input of step "${stepName}"`),
      dueAt: this.backing.env.now(),
      retention: this.#retention,
      parentId: runId,
      parentStep: stepName.slice(0, MAX_TAG_LENGTH),
    })
    await this.backing.commitOne({ type: 'create', run, claimedBy: null })
    const step = await this.steps.read(id)
    if (step === null) throw new Error(`The step "${stepName}" of run ${runId} was deleted.`)
    return step
  }

  /** The steps of a run, in the order in which they were asked for. */
  async stepsOf(runId: string): Promise<readonly StepRecord[]> {
    const ids: string[] = []
    for await (const { id } of this.list({ workflow: STEP, parentId: runId })) ids.push(id)
    return await this.steps.readAll(ids.reverse())
  }

  /** The runs of a workflow, or of all, newest first. */
  async *runsOf(workflow?: string): AsyncGenerator<WorkflowRun> {
    const tag = workflow !== undefined && workflow.length <= MAX_TAG_LENGTH ? { tag: workflow } : {}
    let ids: string[] = []
    for await (const { id } of this.list({ workflow: RUN, ...tag })) {
      ids.push(id)
      if (ids.length < PAGE) continue
      yield* await this.#runs(ids, workflow)
      ids = []
    }
    yield* await this.#runs(ids, workflow)
  }

  async #runs(ids: readonly string[], workflow: string | undefined): Promise<readonly WorkflowRun[]> {
    const logs = await this.runs.readAll(ids)
    return logs.map(({ run }) => run).filter((run) => workflow === undefined || run.workflow === workflow)
  }

  /** All records that a filter finds, newest first. */
  async *list(filter: Omit<RunFilter, 'limit' | 'cursor'>): AsyncGenerator<RunRecord> {
    let cursor: string | null | undefined
    do {
      const from: Pick<RunFilter, 'cursor'> = cursor === undefined || cursor === null ? {} : { cursor }
      const page = await this.backing.persist(() =>
        this.backing.store.listRuns({ ...filter, ...from, limit: PAGE }),
      )
      yield* page.runs
      cursor = page.cursor
    } while (cursor !== null)
  }
}

/** An error as Pikku keeps it; also what was thrown and is none. */
export function serializedError(thrown: unknown): SerializedError {
  const error = thrown instanceof Error ? thrown : new Error(textOf(thrown))
  const { name, message, stack } = error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  return {
    name,
    message,
    ...(stack !== undefined && { stack }),
    ...(code !== undefined && { code }),
    // A deliberate error: Pikku logs its message only.
    expected: error instanceof PikkuError || ('expected' in error && error.expected === true),
  }
}

function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return `a thrown ${typeof thrown} without a text`
  }
}
