import { WorkflowSuspendedException } from '@pikku/core/workflow'

/**
 * A step or a run is in other hands: another worker executes it now, or has taken it over from this one. It says
 * nothing about the work itself, so nothing fails because of it: the step or the tick is tried again later.
 *
 * It is one of Pikku's own exceptions because Pikku lets only those pass through a run without failing it, and of
 * these only this one is public. The service takes care that the run is not marked as suspended by it.
 */
export class StepClaimError extends WorkflowSuspendedException {
  /** `STEP_HELD`: another execution that is alive has it. `CLAIM_LOST`: this execution had it and lost it. */
  readonly code: 'STEP_HELD' | 'CLAIM_LOST'

  constructor(code: 'STEP_HELD' | 'CLAIM_LOST', runId: string, message: string) {
    super(runId, message)
    this.code = code
  }
}
