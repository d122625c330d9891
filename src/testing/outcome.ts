import { decodeValue } from '../core/codec.ts'
import { decodeError } from '../core/error-codec.ts'
import type { RunRecord, RunStatus } from '../core/run.ts'

/** What became of a run. */
export interface RunOutcome<Output = unknown> {
  readonly status: RunStatus
  /** What it returned, once completed. */
  readonly output: Output | undefined
  /** Why it failed, was cancelled or paused, or what its last attempt failed with. */
  readonly error: unknown
  readonly record: RunRecord
}

/** Reads what became of a run. */
export function outcomeOf<Output>(record: RunRecord): RunOutcome<Output> {
  return {
    status: record.status,
    output: record.output === null ? undefined : (decodeValue(record.output) as Output),
    error: record.error === null ? undefined : decodeError(record.error),
    record,
  }
}
