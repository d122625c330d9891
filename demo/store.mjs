// Where the runs live: the one place of the demo that knows which store it is.

import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { mongo } from 'perdure/mongo'
import { postgres } from 'perdure/postgres'
import { sqlite } from 'perdure/sqlite'

/**
 * A database, and a name in it that nobody else uses: a file; or a URL, with the schema or the prefix of the collections.
 *
 * @typedef {{ readonly database: string, readonly name: string }} Place
 */

/**
 * A place for one demo.
 *
 * @param {string | null} url a database server; `null`: an SQLite file
 * @param {string} folder where a file may be
 * @returns {Place}
 */
export function newPlace(url, folder) {
  const name = `perdure_demo_${randomBytes(4).toString('hex')}`
  return { database: url ?? join(folder, 'demo.db'), name }
}

/**
 * Opens the store. Every process of the demo calls it: the starter and all workers share the database and nothing else.
 *
 * @param {Place} place
 */
export function openStore({ database, name }) {
  if (isPostgres(database)) return postgres(database, { schema: name })
  if (isMongo(database)) return mongo(database, { prefix: `${name}_` })
  return sqlite(database)
}

/**
 * Removes all that the demo has stored.
 *
 * @param {Place} place
 */
export async function removePlace({ database, name }) {
  if (isPostgres(database)) await dropSchema(database, name)
  else if (isMongo(database)) await dropCollections(database, `${name}_`)
  else rmSync(database, { force: true })
}

/**
 * How to look at it afterwards.
 *
 * @param {Place} place
 */
export function hintOf({ database, name }) {
  if (isMongo(database)) return `Its collections begin with ${name}_: mongo(url, { prefix: '${name}_' })`
  const location = isPostgres(database) ? withSchema(database, name) : database
  return `npx perdure runs list --store '${location}'`
}

/** @param {string} database */
export function isServer(database) {
  return isPostgres(database) || isMongo(database)
}

/** @param {string} database */
function isPostgres(database) {
  return /^postgres(ql)?:\/\//.test(database)
}

/** @param {string} database */
function isMongo(database) {
  return /^mongodb(\+srv)?:\/\//.test(database)
}

/**
 * @param {string} database
 * @param {string} schema
 */
function withSchema(database, schema) {
  const url = new URL(database)
  url.searchParams.set('schema', schema)
  return url.href
}

/**
 * @param {string} database
 * @param {string} schema
 */
async function dropSchema(database, schema) {
  const { default: pg } = await import('pg')
  const client = new pg.Client(database)
  await client.connect()
  await client.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)
  await client.end()
}

/**
 * @param {string} database
 * @param {string} prefix
 */
async function dropCollections(database, prefix) {
  const { MongoClient } = await import('mongodb')
  const client = new MongoClient(database)
  const store = client.db(databaseOf(client))
  for (const { name } of await store.listCollections().toArray()) {
    if (name.startsWith(prefix)) await store.dropCollection(name)
  }
  await client.close()
}

/**
 * The store's own default, where the URL names no database.
 *
 * @param {import('mongodb').MongoClient} client
 */
function databaseOf(client) {
  return client.options.dbName === 'test' ? 'perdure' : client.options.dbName
}
