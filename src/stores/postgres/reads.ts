import type { RunRecord } from '../../core/run.ts'
import type { RunCount, RunFilter, RunJournal, RunPage } from '../../ports/store.ts'
import { pageOf } from '../sql/cursor.ts'
import { decoded } from '../sql/decoded.ts'
import { listStatement } from '../sql/list.ts'
import {
  type EntryRow,
  type InboxRow,
  type RunRow,
  runColumns,
  toEntry,
  toInboxItem,
  toRun,
} from '../sql/rows.ts'
import { toStoredText } from '../sql/text.ts'
import type { Connections } from './connections.ts'
import { numbers } from './types.ts'

/** One run. */
export async function getRun(
  connections: Connections,
  schema: string,
  id: string,
): Promise<RunRecord | null> {
  const [row] = await connections.query<RunRow>({
    text: `SELECT ${runColumns} FROM ${schema}.perdure_runs WHERE id = $1`,
    values: [toStoredText(id)],
    types: numbers,
  })
  return row === undefined ? null : toRun(decoded(row))
}

interface JournalRow {
  readonly run: RunRow
  readonly inbox: readonly InboxRow[] | null
  readonly entries: readonly EntryRow[] | null
}

/** The runs with their unconsumed inboxes and, if asked for, their entries. */
export async function journal(
  connections: Connections,
  schema: string,
  runIds: readonly string[],
  options: { readonly entries: boolean },
): Promise<readonly RunJournal[]> {
  const rows = await connections.query<JournalRow>({
    text: `SELECT * FROM ${schema}.perdure_read($1, $2)`,
    values: [runIds.map(toStoredText), options.entries],
    types: numbers,
  })
  const found = new Map(rows.map((row) => [row.run.id, row]))
  return runIds.map((runId) => toJournal(runId, found.get(toStoredText(runId))))
}

function toJournal(runId: string, row: JournalRow | undefined): RunJournal {
  if (row === undefined) return { runId, run: null, entries: [], inbox: [] }
  return {
    runId,
    run: toRun(decoded(row.run)),
    entries: (row.entries ?? []).map((entry) => toEntry(decoded(entry))),
    inbox: (row.inbox ?? []).map((item) => toInboxItem(decoded(item))),
  }
}

/** One page of runs, newest first. */
export async function listRuns(
  connections: Connections,
  schema: string,
  filter: RunFilter,
): Promise<RunPage> {
  const { sql, values } = listStatement(filter, { schema: `${schema}.`, join: 'JOIN' })
  const rows = await connections.query<RunRow>({
    text: numbered(sql),
    values: values.map((value) => (typeof value === 'string' ? toStoredText(value) : value)),
    types: numbers,
  })
  const runs = rows.map((row) => toRun(decoded(row)))
  return pageOf(runs, filter.limit)
}

/** How many runs are in which state. */
export async function stats(connections: Connections, schema: string): Promise<readonly RunCount[]> {
  const rows = await connections.query<RunCount>({
    text: `SELECT workflow, queue, status, count(*) AS count FROM ${schema}.perdure_runs
      GROUP BY workflow, queue, status`,
    types: numbers,
  })
  return rows.map((row) => decoded(row))
}

/** The parameters of a statement as PostgreSQL names them. */
function numbered(sql: string): string {
  let number = 0
  return sql.replaceAll('?', () => `$${++number}`)
}
