import { randomBytes } from 'node:crypto'
import pg from 'pg'

export interface FreshSchema {
  /** A name that no other test uses. Nothing is created. */
  readonly schema: string
  /** Drops the schema, if there is one, with all that it holds. */
  dispose(): Promise<void>
}

/** A PostgreSQL schema for one test, of any name that nobody else uses, in a database that other tests use at the same time. */
export function freshSchema(url: string, name?: string): FreshSchema {
  const schema = name ?? `test_${randomBytes(8).toString('hex')}`
  return { schema, dispose: () => drop(url, schema) }
}

async function drop(url: string, schema: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(`DROP SCHEMA IF EXISTS ${pg.escapeIdentifier(schema)} CASCADE`)
  } finally {
    await client.end()
  }
}
