import type { RunRecord } from '../../core/run.ts'
import type { RunCount, RunJournal } from '../../ports/store.ts'
import {
  type EntryRow,
  entryColumns,
  type InboxRow,
  type RunRow,
  runColumns,
  toEntry,
  toInboxItem,
  toRun,
} from '../sql/rows.ts'
import type { Database } from './database.ts'

interface NumberedRow extends RunRow {
  readonly number: number
}

const selectRun = `SELECT number, ${runColumns} FROM perdure_runs WHERE id = ?`
const selectEntries = `SELECT ${entryColumns.join(', ')} FROM perdure_journal WHERE run = ?`

// Consumed items stay, to recognise a repeated delivery, but a long run must not pay for them at every look.
const selectInbox = `SELECT id, kind, name, payload, at FROM perdure_inbox INDEXED BY perdure_inbox_open
  WHERE run = ? AND payload IS NOT NULL ORDER BY position`

const countRuns = `SELECT workflow, queue, status, count(*) AS count
  FROM perdure_runs INDEXED BY perdure_runs_status GROUP BY workflow, queue, status`

/** One run. */
export function getRun(database: Database, id: string): RunRecord | null {
  const row = database.get<RunRow>(selectRun, id)
  return row === undefined ? null : toRun(row)
}

/** The runs with their unconsumed inboxes and, if asked for, their entries. */
export function journal(
  database: Database,
  runIds: readonly string[],
  options: { readonly entries: boolean },
): readonly RunJournal[] {
  return runIds.map((runId) => {
    const row = database.get<NumberedRow>(selectRun, runId)
    if (row === undefined) return { runId, run: null, entries: [], inbox: [] }
    const entries = options.entries ? database.all<EntryRow>(selectEntries, row.number).map(toEntry) : []
    const inbox = database.all<InboxRow>(selectInbox, row.number).map(toInboxItem)
    return { runId, run: toRun(row), entries, inbox }
  })
}

/** How many runs are in which state. */
export function stats(database: Database): readonly RunCount[] {
  return database
    .all<RunCount>(countRuns)
    .map(({ workflow, queue, status, count }) => ({ workflow, queue, status, count }))
}
