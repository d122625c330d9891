import type { Migration } from '../../sql/migrations.ts'
import { claims } from './claims.ts'
import { commit } from './commit.ts'
import { leases } from './leases.ts'
import { reads } from './reads.ts'
import { tables } from './tables.ts'
import { writes } from './writes.ts'

const initial = [tables, writes, commit, claims, leases, reads].join('\n')

/** All migrations of the PostgreSQL store. Append only; they run with the schema as their search path. */
export const migrations: readonly Migration[] = [{ number: 1, name: 'initial', sql: initial }]
