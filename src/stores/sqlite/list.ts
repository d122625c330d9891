import type { RunFilter, RunPage } from '../../ports/store.ts'
import { pageOf } from '../sql/cursor.ts'
import { type Dialect, listStatement } from '../sql/list.ts'
import { type RunRow, toRun } from '../sql/rows.ts'
import type { Database } from './database.ts'

/** SQLite takes CROSS JOIN as the order in which to read. */
export const dialect: Dialect = { schema: '', join: 'CROSS JOIN' }

/** One page of runs, newest first. */
export function listRuns(database: Database, filter: RunFilter): RunPage {
  const { sql, values } = listStatement(filter, dialect)
  return pageOf(database.all<RunRow>(sql, ...values).map(toRun), filter.limit)
}
