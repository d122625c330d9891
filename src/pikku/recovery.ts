import { isTerminal } from '../core/run.ts'
import type { HeldSteps } from './held-steps.ts'
import { RUN, stepIdOf } from './ids.ts'
import type { Records } from './records.ts'
import type { RunLocks } from './run-locks.ts'
import { hasEnded, type RunLog } from './run-log.ts'
import { isBetweenAttempts, type StepRecord } from './step-log.ts'

const PAGE = 100

export interface UndispatchedStep {
  readonly runId: string
  readonly stepId: string
}

/**
 * Looks for what was left behind, for Pikku's `recoverStalledRuns` and `relayUndispatchedSteps`. On the way it brings
 * records of runs that have ended into line, and takes steps from workers that are dead: those are pending again.
 */
export class Recovery {
  readonly #records: Records
  readonly #held: HeldSteps
  readonly #locks: RunLocks

  constructor(records: Records, held: HeldSteps, locks: RunLocks) {
    this.#records = records
    this.#held = held
    this.#locks = locks
  }

  /** Runs in which nothing is under way, and nothing has happened since `before`. */
  async stalledRuns(before: Date, limit: number): Promise<string[]> {
    const found: string[] = []
    for await (const { run } of this.#liveRuns(before)) {
      if (found.length >= limit) break
      const steps = await this.#stepsWithoutDead(run.id)
      const isUnderWay = steps.some(({ latest }) => latest.status !== 'pending' && !isOver(latest.status))
      const activity = Math.max(+run.updatedAt, ...steps.map(({ latest }) => latest.activeAt))
      if (!isUnderWay && !steps.some(isBetweenAttempts) && activity < +before) found.push(run.id)
    }
    return found
  }

  /** Steps that nobody executes and that were last heard of before `before`. */
  async undispatchedSteps(before: Date, limit: number): Promise<UndispatchedStep[]> {
    const found: UndispatchedStep[] = []
    for await (const { run } of this.#liveRuns(before)) {
      for (const step of await this.#stepsWithoutDead(run.id)) {
        if (found.length >= limit) return found
        if (step.latest.activeAt >= +before) continue
        const stepId = await this.#pendingAttempt(step)
        if (stepId !== null) found.push({ runId: run.id, stepId })
      }
    }
    return found
  }

  /** The attempt that is to be dispatched; for a step whose job was lost between two attempts it is the next one. */
  async #pendingAttempt(step: StepRecord): Promise<string | null> {
    const { latest, id } = step
    if (latest.status === 'pending') return stepIdOf(id, latest.number)
    if (!isBetweenAttempts(step)) return null
    return (await this.#held.retry(stepIdOf(id, latest.number), 'pending')).stepId
  }

  /** Runs that are `running`, and were created before. */
  async *#liveRuns(before: Date): AsyncGenerator<RunLog> {
    const status = ['pending', 'waiting'] as const
    let ids: string[] = []
    for await (const { id } of this.#records.list({ workflow: RUN, status, until: +before })) {
      ids.push(id)
      if (ids.length < PAGE) continue
      yield* await this.#running(ids)
      ids = []
    }
    yield* await this.#running(ids)
  }

  async #running(ids: readonly string[]): Promise<readonly RunLog[]> {
    const logs = await this.#records.runs.readAll(ids)
    for (const { run, record } of logs) {
      // Whoever ended it died before its record was.
      if (hasEnded(run.status) && !isTerminal(record.status)) await this.#locks.settle(run.id)
    }
    return logs.filter(({ run }) => run.status === 'running')
  }

  async #stepsWithoutDead(runId: string): Promise<readonly StepRecord[]> {
    const steps = await this.#records.stepsOf(runId)
    const held = steps.filter(({ latest }) => latest.status === 'running' && latest.childRunId === undefined)
    if (held.length === 0) return steps
    await Promise.all(held.map((step) => this.#held.free(step)))
    return await this.#records.stepsOf(runId)
  }
}

function isOver(status: string): boolean {
  return status === 'succeeded' || status === 'failed'
}
