import type { SerializedError } from '@pikku/core'
import { WorkflowCancelledException } from '@pikku/core/workflow'
import { encodeError } from '../core/error-codec.ts'
import { isTerminal, type RunRecord, type Transition } from '../core/run.ts'
import type { AdvanceWrite } from '../ports/store.ts'
import { currentExecution } from './execution.ts'
import type { Held, Holdings } from './holdings.ts'
import { RUN, STEP } from './ids.ts'
import { type Locks, untilFree } from './locks.ts'
import type { Records } from './records.ts'
import { hasEnded, type RunLog } from './run-log.ts'
import type { StepRecord } from './step-log.ts'
import { Turns } from './turns.ts'
import { encode } from './values.ts'

const BATCH = 500

/**
 * The lock of a run is the claim on its record: with a fence, under a lease, of one worker at a time. Whoever lets go of it
 * brings the record into line with the log: parked, or ended together with the records of its steps.
 */
export class RunLocks {
  readonly #records: Records
  readonly #holdings: Holdings
  readonly #locks: Locks
  readonly #turns = new Turns()

  constructor(records: Records, holdings: Holdings, locks: Locks) {
    this.#records = records
    this.#holdings = holdings
    this.#locks = locks
  }

  async with<Value>(runId: string, call: () => Promise<Value>): Promise<Value> {
    const execution = currentExecution()
    if (execution?.lock?.id === runId) return await call()
    const record = await this.#records.backing.readOne(runId)
    // There may be locks without a run. A run that has ended changes no more.
    if (record?.run == null) return await this.#locks.with(['run', runId], call)
    if (isTerminal(record.run.status)) return await call()
    return await this.#turns.take(runId, async () => {
      const taken = await untilFree(this.#records.backing, () => this.#take(runId))
      if (taken === 'ended') return await call()
      const own = execution?.runId === runId ? execution : null
      if (own !== null) own.lock = taken
      try {
        await this.#takenOver(taken)
        return await call()
      } finally {
        if (own !== null) own.lock = null
        await this.#release(taken).catch(() => {})
      }
    })
  }

  /** Brings the record of a run that has ended into line, unless somebody holds it: then they will. */
  async settle(runId: string): Promise<void> {
    const [claimed] = await this.#holdings.claim(RUN, runId)
    if (claimed?.owner) await this.#release({ id: runId, worker: claimed.owner, fence: claimed.fence })
  }

  /** The end of a run that is not wanted any more, and of its steps. */
  async delete(runId: string): Promise<void> {
    await untilFree(this.#records.backing, () => this.#take(runId)).then(async (taken) => {
      if (taken !== 'ended') await this.#end(taken, cancelledEnd)
    })
    const steps = await this.#records.stepsOf(runId)
    const ids = [...steps.map(({ id }) => id), runId]
    await this.#records.backing.commit(
      ids.map((id) => ({ type: 'control', action: 'delete', runId: id }) as const),
    )
  }

  async #take(runId: string): Promise<Held | 'ended' | null> {
    const [claimed] = await this.#holdings.claim(RUN, runId)
    if (claimed?.owner) return { id: runId, worker: claimed.owner, fence: claimed.fence }
    await this.#holdings.reap()
    const journal = await this.#records.backing.readOne(runId)
    if (journal?.run == null || isTerminal(journal.run.status)) return 'ended'
    if (journal.run.status !== 'paused') return null
    const execution = currentExecution()
    if (execution === null) return null
    throw execution.refuse('STEP_HELD', `Run ${runId} is paused; it goes on when it is resumed.`)
  }

  /** Tells the log of a take-over, so that what the dead worker still writes is seen to be late. */
  async #takenOver({ id }: Held): Promise<void> {
    const log = await this.#records.runs.read(id)
    if (log === null) return
    const { attempt, cancelReason } = log.record
    if (attempt > log.taken) {
      await this.#records.runs.append(id, ({ taken }) =>
        taken < attempt ? { type: 'taken', attempt } : null,
      )
    }
    if (cancelReason !== null && !hasEnded(log.run.status)) await this.#cancel(id, cancelReason)
  }

  /** An operator has asked for it. */
  async #cancel(runId: string, reason: string): Promise<never> {
    const error = { message: reason, code: 'WORKFLOW_CANCELLED' }
    await this.#records.runs.append(runId, ({ run }) =>
      hasEnded(run.status) ? null : { type: 'status', status: 'cancelled', output: undefined, error },
    )
    throw new WorkflowCancelledException(runId, reason)
  }

  async #release(held: Held): Promise<void> {
    let mine: Held | null = held
    while (mine !== null) {
      const log = await this.#records.runs.read(mine.id)
      if (log === null) return
      if (hasEnded(log.run.status)) return await this.#end(mine, endOf(log))
      mine = await this.#park(mine, log.record)
    }
  }

  /** Parks the record. Something may have been written since it was read: then it is claimed again, if nobody else did. */
  async #park(held: Held, { deliveries, createdAt }: RunRecord): Promise<Held | null> {
    // Always due, so that the next can claim it; the store says "now" instead if there are unseen deliveries.
    const dueAt = createdAt - 1
    const write = this.#holdings.letGo(held, { status: 'waiting', dueAt, seen: deliveries })
    const result = await this.#records.backing.commitOne(write)
    if (result.status !== 'ok' || result.run?.status !== 'waiting' || result.run.dueAt === dueAt) return null
    const [claimed] = await this.#holdings.claim(RUN, held.id)
    return claimed?.owner ? { id: held.id, worker: claimed.owner, fence: claimed.fence } : null
  }

  /** Ends the records of the steps, and with the last of them that of the run. */
  async #end(held: Held, end: Transition): Promise<void> {
    for (;;) {
      const claimed = await this.#holdings.claim(STEP, held.id, BATCH)
      const steps = await this.#records.steps.readAll(claimed.map(({ id }) => id))
      const byId = new Map(steps.map((step) => [step.id, step]))
      const writes: AdvanceWrite[] = claimed.flatMap(({ id, owner, fence }) => {
        const step = byId.get(id)
        return owner === null || step === undefined
          ? []
          : [this.#holdings.letGo({ id, worker: owner, fence }, endOfStep(step))]
      })
      const isLast = claimed.length < BATCH
      await this.#records.backing.commit([...writes, ...(isLast ? [this.#holdings.letGo(held, end)] : [])])
      if (isLast) return
    }
  }
}

const notNeeded = encodeError(new Error('The run ended without it.'))
const cancelledEnd = {
  status: 'cancelled',
  output: null,
  error: notNeeded,
  cancelled: notNeeded,
} as const

function endOf({ run: { status, output, error } }: RunLog): Transition {
  const failure = encodeError(errorOf(error))
  if (status === 'failed') return { status, output: null, error: failure, cancelled: failure }
  if (status === 'cancelled') return { ...cancelledEnd, error: failure, cancelled: failure }
  return {
    status: 'completed',
    output: encode(output, 'The output of a run'),
    error: null,
    cancelled: failure,
  }
}

function endOfStep({ latest: { status, result, error } }: StepRecord): Transition {
  const failure = encodeError(errorOf(error))
  if (status === 'failed') return { status, output: null, error: failure, cancelled: failure }
  if (status !== 'succeeded') return cancelledEnd
  return {
    status: 'completed',
    output: encode(result, 'The result of a step'),
    error: null,
    cancelled: failure,
  }
}

function errorOf(error: SerializedError | undefined): Error {
  return Object.assign(new Error(error?.message ?? 'The run was cancelled.'), error)
}
