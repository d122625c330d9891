import type { Birth } from '../ports/store.ts'
import type { Ending } from './ending.ts'

/** The worker that an execution belongs to. */
export interface ExecutionOwner<Execution> {
  /** Whether this worker may begin anything: a process that was stopped for a while may not know yet that it is late. */
  readonly leaseIsValid: boolean
  /** The run is parked; the execution may be resumed if the run is claimed again and nobody else had it. */
  parked(execution: Execution): void
  /** The execution is over: the run has ended, is due again, paused, or the claim was lost. */
  over(execution: Execution, ending: Ending | null): void
  /** A child that was created claimed by this worker: start it. */
  started(birth: Birth): void
  /** The slot for such a child was not used. */
  unreserve(birth: Birth): void
  reserve(run: Birth['run']): string | null
}
