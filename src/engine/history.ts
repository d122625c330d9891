import { decodeValue } from '../core/codec.ts'
import { decodeError } from '../core/error-codec.ts'
import { RunNotFoundError } from '../core/errors.ts'
import type { Entry, EntryKind, EntryStatus, RunRecord } from '../core/run.ts'
import { displayKey, LAST_SAVE_KEY } from '../core/step-names.ts'
import type { Store } from '../ports/store.ts'

/** A failed attempt of a step. Times are epoch ms. */
export interface HistoryAttempt {
  /** 1 for the first. */
  readonly attempt: number
  readonly startedAt: number
  readonly endedAt: number
  readonly error: unknown
}

/** A step, or another entry of the journal. */
export interface HistoryEntry {
  readonly name: string
  readonly kind: EntryKind
  readonly status: EntryStatus
  /** The function, workflow or event that it names. */
  readonly target: string | null
  readonly childId: string | null
  /** What it returned, if it succeeded. */
  readonly result: unknown
  /** What it failed with, if it failed. */
  readonly error: unknown
  /** Its failed attempts, oldest first; the newest 20 are kept. */
  readonly attempts: readonly HistoryAttempt[]
  readonly startedAt: number
  readonly endedAt: number | null
  /** When it is due, while it waits. */
  readonly dueAt: number | null
}

/** A run and what happened in it. */
export interface History {
  readonly run: RunRecord
  /** In the order in which outcomes were given to the function; what has none yet comes last. */
  readonly entries: readonly HistoryEntry[]
}

/** Reads the history of a run. @throws RunNotFoundError */
export async function historyOf(store: Store, runId: string): Promise<History> {
  const [journal] = await store.journal([runId], { entries: true })
  if (journal === undefined || journal.run === null) throw new RunNotFoundError(runId)
  const shown = journal.entries.filter((entry) => entry.key !== LAST_SAVE_KEY)
  const entries = shown.sort(inOrder).map(readable)
  return { run: journal.run, entries }
}

function inOrder(a: Entry, b: Entry): number {
  const byEpoch = a.epoch - b.epoch
  const byOrder = (a.order ?? Number.POSITIVE_INFINITY) - (b.order ?? Number.POSITIVE_INFINITY)
  return byEpoch || (Number.isNaN(byOrder) ? 0 : byOrder) || a.startedAt - b.startedAt
}

function readable(entry: Entry): HistoryEntry {
  const { kind, status, target, childId, startedAt, endedAt, dueAt, value } = entry
  const readableValue = kind !== 'interrupt' && value !== null
  return {
    name: displayKey(entry.key),
    kind,
    status,
    target,
    childId,
    result: readableValue && status === 'succeeded' ? decodeValue(value) : undefined,
    error: readableValue && status === 'failed' ? decodeError(value) : undefined,
    attempts: entry.attempts.map((attempt) => ({ ...attempt, error: decodeError(attempt.error) })),
    startedAt,
    endedAt,
    dueAt,
  }
}
