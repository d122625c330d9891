import { createHash } from 'node:crypto'
import { StoreError } from '../../core/errors.ts'
import type { MigrationStep } from '../../ports/store.ts'

/**
 * One step of a schema. Migrations are append-only: a released one is never edited, because its checksum is
 * kept in the database and compared at every start.
 */
export interface Migration {
  /** 1, 2, 3, … without gaps. */
  readonly number: number
  /** A few words for whoever reads the migrations table. */
  readonly name: string
  readonly sql: string
}

/** A row of the migrations table. */
export interface AppliedMigration {
  readonly number: number
  readonly checksum: string
}

/** What callers of `migrate` are told of migrations. */
export function steps(migrations: readonly Migration[]): readonly MigrationStep[] {
  return migrations.map(({ number, name }) => ({ number, name }))
}

/** What the migrations table keeps of a migration, to notice that it was edited. */
export function checksum(migration: Migration): string {
  return createHash('sha256').update(migration.sql).digest('hex')
}

/**
 * The migrations that are still to be applied, in order. `place` names the database in messages.
 *
 * @throws StoreError `newer-schema` if the database holds migrations that this version does not know;
 *   `corrupt` if it holds other ones under the same numbers.
 */
export function pendingMigrations(
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
  place: string,
): readonly Migration[] {
  refuseNewer(known, applied, place)
  const checksums = new Map(applied.map((row) => [row.number, row.checksum]))
  return known.filter((migration) => {
    const found = checksums.get(migration.number)
    if (found === undefined) return true
    if (found !== checksum(migration)) throw editedMigration(migration, place)
    return false
  })
}

function refuseNewer(known: readonly Migration[], applied: readonly AppliedMigration[], place: string): void {
  const newest = Math.max(0, ...applied.map((row) => row.number))
  if (newest <= known.length) return
  throw new StoreError(
    'newer-schema',
    `${place} has schema version ${newest}, but this version of perdure knows versions up to ` +
      `${known.length}. It was left as it is. Use the version of perdure that migrated it, or a newer one.`,
  )
}

function editedMigration(migration: Migration, place: string): StoreError {
  return new StoreError(
    'corrupt',
    `${place} was migrated with another text of migration ${migration.number} (${migration.name}). ` +
      'It was left as it is. Use the version of perdure that created it, or another database.',
  )
}
