import type { RunFilter } from '../../ports/store.ts'
import { decodeCursor } from './cursor.ts'
import { runColumns, type SqlValue } from './rows.ts'

/** A piece of a statement with the values of its parameters. */
interface Fragment {
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/** Where the dialects of SQL differ. */
export interface Dialect {
  /** What stands before the name of a table, e.g. `"perdure".`. */
  readonly schema: string
  /** A join whose left side is to lead. */
  readonly join: string
}

/** The statement for a filter, with `?` for its parameters. It asks for one run more than the page holds. */
export function listStatement(filter: RunFilter, dialect: Dialect): Fragment {
  const rows = filter.limit + 1
  if (filter.status === undefined) return select(filter, null, rows, dialect)
  // One branch per status, each in the order of its index, so that no branch reads more than a page.
  const branches = [...new Set(filter.status)].map((status) => select(filter, status, rows, dialect))
  if (branches.length === 0) return select({ ...filter, limit: 0 }, null, 0, dialect)
  const union = branches.map(({ sql }) => `SELECT * FROM (${sql}) AS branch`).join('\nUNION ALL\n')
  return {
    sql: `${union}\nORDER BY created_at DESC, id DESC LIMIT ?`,
    values: [...branches.flatMap(({ values }) => values), rows],
  }
}

function select(filter: RunFilter, status: string | null, rows: number, { schema, join }: Dialect): Fragment {
  const { tag } = filter
  const where = conditions(filter, status)
  const source =
    tag === undefined
      ? `${schema}perdure_runs AS run`
      : `${schema}perdure_tags AS tagged ${join} ${schema}perdure_runs AS run ON run.id = tagged.run_id`
  const order =
    tag === undefined ? 'run.created_at DESC, run.id DESC' : 'tagged.created_at DESC, tagged.run_id DESC'
  const columns = runColumns.replaceAll(/\w+/g, 'run.$&')
  return {
    sql: `SELECT ${columns} FROM ${source}
      ${where.length === 0 ? '' : `WHERE ${where.map(({ sql }) => sql).join(' AND ')}`}
      ORDER BY ${order} LIMIT ?`,
    values: [...where.flatMap(({ values }) => values), rows],
  }
}

function conditions(filter: RunFilter, status: string | null): readonly Fragment[] {
  const { workflow, key, queue, tag, parentId, since, until, cursor } = filter
  // Both tables hold the time and the id; the one that leads the statement must carry the range.
  const [time, id] = tag === undefined ? ['run.created_at', 'run.id'] : ['tagged.created_at', 'tagged.run_id']
  const found: Fragment[] = []
  const add = (sql: string, ...values: (SqlValue | undefined)[]): void => {
    const given = values.filter((value) => value !== undefined)
    if (given.length === values.length) found.push({ sql, values: given })
  }
  add('tagged.tag = ?', tag)
  add('run.status = ?', status ?? undefined)
  add('run.workflow = ?', workflow)
  add('run.key = ?', key)
  add('run.queue = ?', queue)
  add('run.parent_id = ?', parentId)
  add(`${time} >= ?`, since)
  add(`${time} < ?`, until)
  if (cursor !== undefined) {
    const after = decodeCursor(cursor)
    add(`(${time}, ${id}) < (?, ?)`, after.createdAt, after.id)
  }
  return found
}
