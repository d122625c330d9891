import { StoreError } from '../../core/errors.ts'
import type { MigrationStep } from '../../ports/store.ts'
import {
  type AppliedMigration,
  checksum,
  type Migration,
  pendingMigrations,
  steps,
} from '../sql/migrations.ts'
import type { Database } from './database.ts'
import { migrations } from './schema.ts'

const createTable = `CREATE TABLE IF NOT EXISTS perdure_migrations (
  number INTEGER NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at INTEGER NOT NULL DEFAULT (unixepoch() * 1000)
)`

const selectTable = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'perdure_migrations'"
const selectApplied = 'SELECT number, checksum FROM perdure_migrations ORDER BY number'
const insertApplied = 'INSERT INTO perdure_migrations (number, name, checksum) VALUES (?, ?, ?)'

/** Brings the schema up to date. Several processes may do so at once: the write lock lets one at a time decide. */
export function migrate(
  database: Database,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): readonly MigrationStep[] {
  if (dryRun) return steps(database.look(findPending) ?? migrations)
  if (database.readOnly) {
    refuseOutdated(database)
    return []
  }
  // Takes the lock also if there is nothing to do: a file that cannot be written is better reported at the
  // start than by the first run.
  return database.write(() => {
    const pending = findPending(database)
    if (pending.length > 0) database.exec(createTable)
    for (const migration of pending) {
      database.exec(migration.sql)
      database.run(insertApplied, migration.number, migration.name, checksum(migration))
    }
    return steps(pending)
  })
}

function refuseOutdated(database: Database): void {
  if (findPending(database).length === 0) return
  throw new StoreError(
    'read-only',
    `The SQLite database ${database.path} has no current schema, and it was opened with { readOnly: true }. ` +
      'Open it once without that option.',
  )
}

function findPending(database: Database): readonly Migration[] {
  const exists = database.get(selectTable) !== undefined
  const applied = exists ? database.all<AppliedMigration>(selectApplied) : []
  return pendingMigrations(migrations, applied, `The SQLite database ${database.path}`)
}
