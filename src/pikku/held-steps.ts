import type { SerializedError } from '@pikku/core'
import type { StepState } from '@pikku/core/workflow'
import { StepClaimError } from './errors.ts'
import { currentExecution, type Execution } from './execution.ts'
import type { Holdings } from './holdings.ts'
import { parseStepId, stepIdOf } from './ids.ts'
import type { Records } from './records.ts'
import { type Attempt, type StepEvent, type StepRecord, stateOf } from './step-log.ts'

const RELEASE_INTERVAL_MS = 1000

/** What an attempt came to. */
export type Outcome =
  | { readonly type: 'result'; readonly value: unknown }
  | { readonly type: 'error'; readonly error: SerializedError }

/**
 * Who executes which step. An attempt is claimed by an event in its log, which only one can write; the claim ends with its
 * outcome, or when the worker that made it is dead.
 */
export class HeldSteps {
  readonly #records: Records
  readonly #holdings: Holdings
  #isClosed = false

  constructor(records: Records, holdings: Holdings) {
    this.#records = records
    this.#holdings = holdings
  }

  /** Claims an attempt. @throws StepClaimError if it is in other hands, or is done. */
  async claim(stepId: string): Promise<void> {
    const { recordId, attempt } = parse(stepId)
    const execution = writingExecution(this.#holdings)
    const by = await this.#holdings.identity()
    const { token, viaQueue } = execution ?? { token: '', viaQueue: false }
    const appended = await this.#records.steps.append(recordId, async (step) => {
      const { latest } = step
      if (latest.number !== attempt) throw refusal(execution, 'CLAIM_LOST', step, 'was tried again since')
      if (latest.status === 'succeeded') throw refusal(execution, 'CLAIM_LOST', step, 'is done')
      if (latest.status === 'running' && !(await this.#isFree(latest, token))) {
        throw refusal(execution, 'STEP_HELD', step, 'is being executed')
      }
      return { type: 'running', attempt, by, token, viaQueue }
    })
    noteClaim(execution, stepId, appended?.number)
  }

  /** Begins the attempt after a failed one. */
  async retry(stepId: string, status: 'pending' | 'running'): Promise<StepState & { stepName: string }> {
    const { recordId, attempt } = parse(stepId)
    const execution = writingExecution(this.#holdings)
    const by = await this.#holdings.identity()
    const { token, viaQueue } = execution ?? { token: '', viaQueue: false }
    const next = attempt + 1
    const appended = await this.#records.steps.append(recordId, (step) => {
      if (step.latest.number === attempt) {
        return status === 'running'
          ? { type: 'retry', attempt: next, by, token, viaQueue }
          : { type: 'pending', attempt: next }
      }
      // Somebody else has begun it.
      if (status === 'running') throw refusal(execution, 'STEP_HELD', step, 'is being tried again')
      return null
    })
    if (appended === null) throw new Error(`Step not found: ${stepId}`)
    if (status === 'running') noteClaim(execution, stepIdOf(recordId, next), appended.number)
    return stateOf(appended.state)
  }

  /**
   * Records what an attempt came to. The first outcome stays: a second one, and what comes too late, changes nothing.
   * @throws StepClaimError if this execution had claimed the attempt, and it was taken over
   */
  async settle(stepId: string, outcome: Outcome): Promise<void> {
    const { recordId, attempt } = parse(stepId)
    const execution = writingExecution(this.#holdings)
    const claim = execution?.claims.get(stepId)
    try {
      await this.#records.steps.append(recordId, (step) => {
        const { latest } = step
        if (claim !== undefined && latest.holder?.claim !== claim) {
          throw refusal(execution, 'CLAIM_LOST', step, 'was taken over')
        }
        const isOver = latest.number !== attempt || latest.status === 'succeeded'
        const isKnown = outcome.type === 'error' && latest.status === 'failed'
        return isOver || isKnown ? null : { ...outcome, attempt }
      })
      execution?.claims.delete(stepId)
    } catch (error) {
      if (claim !== undefined && execution?.refusal === null) this.#releaseLater(recordId, claim)
      throw error
    }
  }

  /** Writes what changes nothing about who executes the attempt. */
  async note(stepId: string, event: (attempt: Attempt, step: StepRecord) => StepEvent | null): Promise<void> {
    const { recordId, attempt } = parse(stepId)
    writingExecution(this.#holdings)
    await this.#records.steps.append(recordId, (step) => {
      const found = step.attempts.find(({ number }) => number === attempt)
      return found === undefined ? null : event(found, step)
    })
  }

  /** Takes a step from a worker that is dead. `false` if the one that has it is alive. */
  async free(step: StepRecord): Promise<boolean> {
    if (step.latest.status !== 'running') return true
    const { state } = (await this.#records.steps.append(step.id, async ({ latest }) => {
      if (latest.status !== 'running' || !(await this.#isFree(latest, null))) return null
      return { type: 'released', attempt: latest.number }
    })) ?? { state: step }
    return state.latest.status !== 'running'
  }

  close(): void {
    this.#isClosed = true
  }

  /** Whether nobody executes the attempt any more, or the execution with this token does. */
  async #isFree({ holder }: Attempt, token: string | null): Promise<boolean> {
    if (holder === null || (holder.token === token && token !== '')) return true
    return !(await this.#holdings.alive([holder.by])).has(holder.by)
  }

  /**
   * The outcome of an attempt could not be written, and nobody will try again: while this process lives, others would
   * take the attempt for being executed.
   */
  #releaseLater(recordId: string, claim: number): void {
    if (this.#isClosed) return
    this.#records.backing.env.setTimer(RELEASE_INTERVAL_MS, () => void this.#release(recordId, claim), {
      background: true,
    })
  }

  async #release(recordId: string, claim: number): Promise<void> {
    try {
      await this.#records.steps.append(recordId, ({ latest }) =>
        latest.holder?.claim === claim ? { type: 'released', attempt: latest.number } : null,
      )
    } catch {
      this.#releaseLater(recordId, claim)
    }
  }
}

/** The execution that writes now. @throws StepClaimError if it must not any more. */
export function writingExecution(holdings: Holdings): Execution | null {
  const execution = currentExecution()
  if (execution === null) return null
  if (execution.refusal !== null) throw execution.refusal
  if (execution.lock !== null && !holdings.mayHold(execution.lock)) {
    throw execution.refuse(
      'CLAIM_LOST',
      `The lock of run ${execution.runId} was lost; others may have it now.`,
    )
  }
  return execution
}

function refusal(
  execution: Execution | null,
  code: 'STEP_HELD' | 'CLAIM_LOST',
  step: StepRecord,
  what: string,
): Error {
  const message = `Step "${step.stepName}" of run ${step.runId} ${what} elsewhere.`
  return execution?.refuse(code, message) ?? new StepClaimError(code, step.runId, message)
}

function noteClaim(execution: Execution | null, stepId: string, claim: number | null | undefined): void {
  if (execution === null || typeof claim !== 'number') return
  execution.claims.set(stepId, claim)
  execution.hasClaimed = true
}

function parse(stepId: string): { readonly recordId: string; readonly attempt: number } {
  const parsed = parseStepId(stepId)
  if (parsed === null) throw new Error(`Step not found: ${stepId}`)
  return parsed
}
