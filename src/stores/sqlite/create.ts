import { addTime } from '../../core/duration.ts'
import type { Entry, RunRecord } from '../../core/run.ts'
import type { Birth, NewRun, WriteResult } from '../../ports/store.ts'
import { entryColumns, fromEntry, type RunRow, runColumns, toRun } from '../sql/rows.ts'
import type { Database } from './database.ts'

const insertRun = `INSERT INTO perdure_runs
  (id, workflow, version, queue, key, priority, tags, status, due_at, attempt, epoch, deaths, owner, fence,
   deliveries, seen, pause_requested, input, parent_id, parent_step, policy, timeout, retention, deadline,
   created_at, started_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 1, 0, ?, ?, 0, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING RETURNING number`

const insertTag = 'INSERT OR IGNORE INTO perdure_tags (tag, created_at, run_id) VALUES (?, ?, ?)'
const selectById = `SELECT ${runColumns} FROM perdure_runs WHERE id = ?`
const selectByKey = `SELECT ${runColumns} FROM perdure_runs WHERE key = ? AND workflow = ?`

const upsertEntry = `INSERT INTO perdure_journal (run, written, ${entryColumns.join(', ')})
  VALUES (?, ?, ${entryColumns.map(() => '?').join(', ')})
  ON CONFLICT (run, key) DO UPDATE SET
  ${['written', ...entryColumns].map((column) => `${column} = excluded.${column}`).join(', ')}
  WHERE written <= excluded.written`

/** Creates a run unless its id, or its workflow and key, exist. */
export function create(database: Database, birth: Birth, now: number): WriteResult {
  const { run, claimedBy } = birth
  if (insertBirth(database, birth, now)) {
    if (claimedBy !== null) return { status: 'ok', run: { status: 'running', dueAt: null } }
    return { status: 'ok', run: { status: 'pending', dueAt: run.dueAt } }
  }
  return { status: 'existing', run: holder(database, run) }
}

/** Inserts a run with its tags and entries. Returns `false` if its id or key is taken. */
export function insertBirth(database: Database, { run, claimedBy }: Birth, now: number): boolean {
  const claimed = claimedBy !== null
  const { timeout, retention } = run.policy
  const deadline = claimed && timeout !== null ? addTime(now, timeout) : null
  const inserted = database.get<{ number: number }>(
    insertRun,
    ...[run.id, run.workflow, run.version, run.queue, run.key, run.priority, JSON.stringify(run.tags)],
    ...[claimed ? 'running' : 'pending', claimed ? null : run.dueAt, claimedBy, claimed ? 1 : 0],
    ...[run.input, run.parentId, run.parentStep, JSON.stringify(run.policy), timeout, retention],
    ...[deadline, now, claimed ? now : null],
  )
  if (inserted === undefined) return false
  for (const tag of run.tags) database.run(insertTag, tag, now, run.id)
  upsertEntries(database, inserted.number, run.entries, 0)
  return true
}

/** Inserts journal entries of the run of this number, or replaces those of the same key and no later `order`. */
export function upsertEntries(
  database: Database,
  run: number,
  entries: readonly Entry[],
  order: number,
): void {
  for (const entry of entries) database.run(upsertEntry, run, order, ...fromEntry(entry))
}

function holder(database: Database, { id, key, workflow }: NewRun): RunRecord {
  const row = database.get<RunRow>(selectById, id) ?? database.get<RunRow>(selectByKey, key, workflow)
  if (row === undefined) throw new Error(`Run ${id} was neither inserted nor found.`)
  return toRun(row)
}
