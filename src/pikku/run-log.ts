import type { SerializedError } from '@pikku/core'
import type { WorkflowPlannedStep, WorkflowRun, WorkflowRunWire, WorkflowStatus } from '@pikku/core/workflow'
import type { RunRecord } from '../core/run.ts'
import { RUN } from './ids.ts'
import type { Kind, Logged } from './ledger.ts'
import { decode } from './values.ts'

/** What a run is created with. */
export interface RunInput {
  readonly workflow: string
  readonly input: unknown
  readonly inline: boolean
  readonly graphHash: string
  readonly wire: WorkflowRunWire
  readonly deterministic: boolean | undefined
  readonly plannedSteps: WorkflowPlannedStep[] | undefined
}

export type RunEvent =
  | {
      readonly type: 'status'
      readonly status: WorkflowStatus
      readonly output: unknown
      readonly error: SerializedError | undefined
    }
  | { readonly type: 'state'; readonly name: string; readonly value: unknown }
  /** The lock was taken from a worker that died (the record counts how often): what that one writes now is late. */
  | { readonly type: 'taken'; readonly attempt: number }

/** A run, as its log says. */
export interface RunLog {
  readonly record: RunRecord
  readonly run: WorkflowRun
  /** What the run has stored by name. */
  readonly data: Readonly<Record<string, unknown>>
  /** The attempt of the record as of which its lock was last taken over. */
  readonly taken: number
}

export const runKind: Kind<RunLog, RunEvent> = { workflow: RUN, fold }

function fold(record: RunRecord, events: readonly Logged<RunEvent>[]): RunLog {
  const { deterministic, plannedSteps, ...input } = decode<RunInput>(record.input)
  const createdAt = new Date(record.createdAt)
  let run: WorkflowRun = {
    id: record.id,
    status: 'running',
    ...input,
    ...(deterministic !== undefined && { deterministic }),
    ...(plannedSteps !== undefined && { plannedSteps }),
    createdAt,
    updatedAt: createdAt,
  }
  const data = new Map<string, unknown>()
  let taken = 1
  for (const { event, at } of events) {
    if (event.type === 'status') run = withStatus(run, event, at)
    else if (event.type === 'state') data.set(event.name, event.value)
    else taken = event.attempt
  }
  return { record, run, data: Object.fromEntries(data), taken }
}

function withStatus(run: WorkflowRun, event: StatusEvent, at: number): WorkflowRun {
  const { status, output, error } = event
  const updatedAt = new Date(at)
  const rest = status === 'running' ? withoutEnd(run) : run
  return { ...rest, status, updatedAt, ...(output !== undefined && { output }), ...(error && { error }) }
}

/** A run that goes on after it was suspended or had ended. */
function withoutEnd({ error: _, output: __, ...run }: WorkflowRun): WorkflowRun {
  return run
}

export type StatusEvent = Extract<RunEvent, { readonly type: 'status' }>
export type EndStatus = 'completed' | 'failed' | 'cancelled'

export function hasEnded(status: WorkflowStatus): status is EndStatus {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}
