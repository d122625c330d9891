import { join } from 'node:path'
import { MongoClient } from 'mongodb'
import pg from 'pg'
import type { Store } from '../../src/index.ts'
import { mongo } from '../../src/stores/mongo/index.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { openConnection } from '../sqlite/helpers.ts'

/** A database, and a name in it that only one test uses. */
export interface Place {
  /** The path of a file, or the URL of a server. */
  readonly database: string
  readonly name: string
}

/** A file in this folder. */
export function fileIn(folder: string): Place {
  return { database: join(folder, 'work.db'), name: '' }
}

/** A place on a server. */
export function placeOn(url: string): Place {
  return { database: url, name: `test_${Math.random().toString(36).slice(2)}` }
}

export function openPlace({ database, name }: Place): Store {
  if (isPostgres(database)) return postgres(database, { schema: name })
  if (isMongo(database)) return mongo(database, { prefix: `${name}_` })
  return sqlite(database)
}

/** What is wrong with the data, as far as the database itself or a look at it can tell. */
export async function flawsOf(place: Place): Promise<readonly unknown[]> {
  const { database, name } = place
  if (isPostgres(database)) return await onPostgres(database, orphans(name))
  if (isMongo(database)) return []
  const rows = (await openConnection(database)).prepare('PRAGMA integrity_check').all()
  return rows.filter((row) => JSON.stringify(row) !== '{"integrity_check":"ok"}')
}

/** Removes what a test has left on a server. */
export async function removePlace({ database, name }: Place): Promise<void> {
  if (isPostgres(database)) await onPostgres(database, `DROP SCHEMA IF EXISTS "${name}" CASCADE`)
  if (!isMongo(database)) return
  const client = new MongoClient(database)
  const db = client.db('perdure')
  for (const collection of await db.listCollections().toArray()) {
    if (collection.name.startsWith(`${name}_`)) await db.dropCollection(collection.name)
  }
  await client.close()
}

/** Rows without their run. */
function orphans(schema: string): string {
  return ['journal', 'inbox']
    .map(
      (table) => `SELECT '${table}' AS place, run FROM "${schema}".perdure_${table} WHERE run NOT IN
      (SELECT number FROM "${schema}".perdure_runs)`,
    )
    .join(' UNION ALL ')
}

async function onPostgres(url: string, sql: string): Promise<readonly unknown[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

function isPostgres(database: string): boolean {
  return /^postgres(ql)?:/.test(database)
}

function isMongo(database: string): boolean {
  return database.startsWith('mongodb')
}
