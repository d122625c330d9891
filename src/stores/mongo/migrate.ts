import type { Collection, Document } from 'mongodb'
import { StoreError } from '../../core/errors.ts'
import type { MigrationStep } from '../../ports/store.ts'
import { checksum, type Migration, pendingMigrations, steps } from '../sql/migrations.ts'
import type { Context } from './connection.ts'
import { codeOf, DUPLICATE_KEY } from './failures.ts'
import { type Collections, indexesOf, migrations } from './schema.ts'

/**
 * Brings the schema up to date. Every part of a migration can be made again without harm, so processes that start at
 * the same time need no lock.
 */
export async function migrate(
  { collections, patience }: Context,
  place: string,
  dryRun: boolean,
): Promise<readonly MigrationStep[]> {
  const pending = await findPending(collections, place)
  if (dryRun) return steps(pending)
  const applied: Migration[] = []
  for (const migration of pending) {
    patience.check()
    await repeatedly(() => apply(collections, migration))
    if (await record(collections, migration)) applied.push(migration)
  }
  return steps(applied)
}

/** @throws StoreError if the schema is not the one that this version works with. */
export async function requireSchema({ collections }: Context, place: string): Promise<void> {
  const pending = await findPending(collections, place)
  if (pending.length === 0) return
  throw new StoreError(
    'unavailable',
    `${place} has no collections of perdure, or older ones. Call migrate() first.`,
  )
}

async function findPending(collections: Collections, place: string): Promise<readonly Migration[]> {
  const documents = await collections.migrations.find().sort({ _id: 1 }).toArray()
  const applied = documents.map(({ _id, checksum: found }) => ({ number: _id, checksum: found }))
  return pendingMigrations(migrations, applied, place)
}

async function apply(collections: Collections, migration: Migration): Promise<void> {
  const definitions = indexesOf(migration)
  for (const name of new Set(definitions.map(({ collection }) => collection))) {
    // The options of the collection's documents do not matter for its indexes.
    const collection: Collection<Document> = collections.db.collection(collections[name].collectionName)
    const own = definitions.filter((definition) => definition.collection === name)
    await collection.createIndexes(own.map(({ collection: _, ...index }) => index))
  }
}

/** Whether it was this process that recorded it. */
async function record({ migrations: history }: Collections, migration: Migration): Promise<boolean> {
  const { number, name } = migration
  const row = { _id: number, name, checksum: checksum(migration), appliedAt: new Date() }
  try {
    await history.insertOne(row)
    return true
  } catch (error) {
    if (codeOf(error) === DUPLICATE_KEY) return false
    throw error
  }
}

/** Another process that does the same may make this one fail, but not for long. */
async function repeatedly(body: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await body()
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !passing.has(codeOf(error) ?? 0)) throw error
    }
  }
}

const MAX_ATTEMPTS = 10

/** Namespace exists, write conflict, conflicting operation in progress, index build aborted. */
const passing: ReadonlySet<number> = new Set([48, 112, 117, 276])
