import type { Database } from './database.ts'

/** Ended runs whose retention is over, the longest expired first. */
export const selectExpired = `SELECT number FROM perdure_runs INDEXED BY perdure_runs_expires
  WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?`

const selectTags = 'SELECT id, tags, created_at FROM perdure_runs WHERE number = ?'
const deleteTag = 'DELETE FROM perdure_tags WHERE tag = ? AND created_at = ? AND run_id = ?'
const deleteJournal = 'DELETE FROM perdure_journal WHERE run = ?'
const deleteInbox = 'DELETE FROM perdure_inbox WHERE run = ?'
const deleteRow = 'DELETE FROM perdure_runs WHERE number = ?'

/** Deletes up to `limit` ended runs whose retention is over at `now`. Returns how many. */
export function prune(database: Database, now: number, limit: number): number {
  const expired = database.all<{ number: number }>(selectExpired, now, limit)
  for (const { number } of expired) deleteRun(database, number)
  return expired.length
}

/** Deletes the run of this number with all that belongs to it. */
export function deleteRun(database: Database, number: number): void {
  deleteTags(database, number)
  database.run(deleteJournal, number)
  database.run(deleteInbox, number)
  database.run(deleteRow, number)
}

function deleteTags(database: Database, number: number): void {
  const row = database.get<{ id: string; tags: string; created_at: number }>(selectTags, number)
  if (row === undefined || row.tags === '[]') return
  const tags: readonly string[] = JSON.parse(row.tags)
  for (const tag of tags) database.run(deleteTag, tag, row.created_at, row.id)
}
