import type { PoolClient } from 'pg'
import { describe } from '../../core/describe.ts'
import { StoreError } from '../../core/errors.ts'
import type { MigrationStep } from '../../ports/store.ts'
import {
  type AppliedMigration,
  checksum,
  type Migration,
  pendingMigrations,
  steps,
} from '../sql/migrations.ts'
import type { Connections } from './connections.ts'
import { literal } from './quoting.ts'
import { migrations } from './schema/index.ts'

/** Where the tables are. */
export interface Place {
  /** What messages call the database. */
  readonly name: string
  /** The schema's name, as it is. */
  readonly schema: string
  /** The schema's name as an identifier. */
  readonly quoted: string
}

/** Brings the schema up to date. A lock that ends with the transaction lets one process at a time decide. */
export function migrate(
  connections: Connections,
  place: Place,
  dryRun: boolean,
): Promise<readonly MigrationStep[]> {
  return connections.session(async (client) => {
    const pending = await findPending(client, place)
    if (pending.length === 0 || dryRun) return steps(pending)
    await refuseOtherEncodings(client, place)
    await client.query('BEGIN')
    try {
      const applied = await applyPending(client, place)
      await client.query('COMMIT')
      return steps(applied)
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {})
      throw error
    }
  })
}

async function applyPending(client: PoolClient, place: Place): Promise<readonly Migration[]> {
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`perdure ${place.schema}`])
  if (!(await schemaExists(client, place))) await client.query(`CREATE SCHEMA ${place.quoted}`)
  await client.query(`SET LOCAL search_path TO ${place.quoted}`)
  // The process that had the lock before may have done it all.
  const pending = await findPending(client, place)
  if (pending.length > 0) await client.query(createTable)
  for (const migration of pending) {
    await client.query(migration.sql)
    await client.query(
      `INSERT INTO perdure_migrations (number, name, checksum)
       VALUES (${migration.number}, ${literal(migration.name)}, ${literal(checksum(migration))})`,
    )
  }
  return pending
}

const createTable = `CREATE TABLE IF NOT EXISTS perdure_migrations (
  number integer NOT NULL PRIMARY KEY,
  name text NOT NULL,
  checksum text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`

async function findPending(client: PoolClient, place: Place): Promise<readonly Migration[]> {
  const table = `${place.quoted}.perdure_migrations`
  const { rows } = await client.query<{ found: boolean }>('SELECT to_regclass($1) IS NOT NULL AS found', [
    table,
  ])
  const applied = rows[0]?.found
    ? (await client.query<AppliedMigration>(`SELECT number, checksum FROM ${table} ORDER BY number`)).rows
    : []
  return pendingMigrations(migrations, applied, place.name)
}

async function schemaExists(client: PoolClient, place: Place): Promise<boolean> {
  const { rows } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [place.schema])
  return rows.length > 0
}

/** Any text must come back as it was, and `SET` must not be forbidden by a read-only server. */
async function refuseOtherEncodings(client: PoolClient, place: Place): Promise<void> {
  const { rows } = await client.query<{ server_encoding: string }>('SHOW server_encoding')
  const encoding = rows[0]?.server_encoding
  if (encoding === 'UTF8') return
  throw new StoreError(
    'unavailable',
    `${place.name} stores text as ${describe(encoding)}. Use a database whose encoding is UTF8.`,
  )
}
