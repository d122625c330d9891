/** How entries of the journal come out of JSON and into their table. */
const columns =
  'key, kind, status, target, child_id, epoch, position, value, attempts, due_at, started_at, ended_at'

/** The members of an entry, as the column definition list of a record set. */
export const entryTypes = `key text, kind text, status text, target text, child_id text, epoch bigint,
      position bigint, value text, attempts text, due_at bigint, started_at bigint, ended_at bigint`

/**
 * The statement that inserts entries, or replaces those that are not newer. `run` and `written` are expressions;
 * `source` is a record set called `e`, with a condition if needed.
 */
export function upsertEntries(run: string, written: string, source: string): string {
  return `
    INSERT INTO perdure_journal (run, written, ${columns})
    SELECT ${run}, ${written}, ${columns.replaceAll(/\w+/g, 'e.$&')} FROM ${source}
    ON CONFLICT (run, key) DO UPDATE SET
      kind = excluded.kind, status = excluded.status, target = excluded.target, child_id = excluded.child_id,
      epoch = excluded.epoch, position = excluded.position, value = excluded.value, attempts = excluded.attempts,
      due_at = excluded.due_at, started_at = excluded.started_at, ended_at = excluded.ended_at,
      written = excluded.written
      WHERE perdure_journal.written <= excluded.written;`
}
