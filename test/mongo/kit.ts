import { randomBytes } from 'node:crypto'
import type { Collection, CollectionOptions, Db, MongoClient } from 'mongodb'
import { onTestFinished } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { type MongoOptions, mongo } from '../../src/stores/mongo/index.ts'

export interface FreshDatabase {
  /** A database that no other test uses. */
  readonly db: Db
  /** Drops it with all that it holds. */
  dispose(): Promise<void>
}

/** A database for one test, on a server that other tests use at the same time. */
export function freshDatabase(client: MongoClient): FreshDatabase {
  const db = client.db(`test_${randomBytes(8).toString('hex')}`)
  return {
    db,
    async dispose() {
      await db.dropDatabase()
    },
  }
}

/** A database for the test that runs, which is dropped with it, and a migrated store in it. */
export async function freshStore(
  client: MongoClient,
  options?: MongoOptions,
): Promise<{ readonly db: Db; readonly store: Store }> {
  const { db, dispose } = freshDatabase(client)
  onTestFinished(dispose)
  const store = mongo(db, options)
  await store.migrate()
  return { db, store }
}

/** A call to the server. */
export interface Call {
  readonly collection: string
  readonly method: string
}

export const WRITES: ReadonlySet<string> = new Set([
  ...['bulkWrite', 'insertOne', 'insertMany', 'updateOne', 'deleteMany', 'findOneAndDelete'],
])
const READS: ReadonlySet<string> = new Set(['findOne', 'distinct'])
const CURSORS: ReadonlySet<string> = new Set(['find', 'aggregate'])

/** What is done with a call instead of simply making it. */
export type Tap = (call: Call, make: () => Promise<unknown>) => Promise<unknown>

/** The same database, with `tap` between it and a store. */
export function tapped(db: Db, tap: Tap): Db {
  return new Proxy(db, {
    get(target, name) {
      if (name === 'collection') {
        return (collection: string, options: CollectionOptions) =>
          tappedCollection(target.collection(collection, options), { collection, tap })
      }
      return bound(target, name)
    },
  })
}

function tappedCollection(
  target: Collection,
  { collection, tap }: { readonly collection: string; readonly tap: Tap },
): Collection {
  return new Proxy(target, {
    get(_, name) {
      const member: unknown = bound(target, name)
      if (typeof member !== 'function' || typeof name !== 'string') return member
      const call = { collection, method: name }
      if (WRITES.has(name) || READS.has(name)) {
        return (...args: unknown[]) => tap(call, async () => await member(...args))
      }
      if (!CURSORS.has(name)) return member
      return (...args: unknown[]) => {
        const cursor: object = member(...args)
        return new Proxy(cursor, {
          get(_cursor, method) {
            const read: unknown = bound(cursor, method)
            if (method !== 'toArray' || typeof read !== 'function') return read
            return () => tap(call, async () => await read())
          },
        })
      }
    },
  })
}

function bound(target: object, name: string | symbol): unknown {
  const member: unknown = Reflect.get(target, name)
  return typeof member === 'function' ? member.bind(target) : member
}

/** A process that dies at its `number`th write (from 1): before the server gets it, or before its answer comes. */
export function dyingAt(
  db: Db,
  number: number,
  moment: 'before' | 'after',
): { db: Db; isDead: () => boolean } {
  let count = 0
  let dead = false
  const die = (): never => {
    dead = true
    throw new Error('this process is dead')
  }
  const tap: Tap = async ({ method }, make) => {
    if (dead) die()
    const isLast = WRITES.has(method) && ++count === number
    if (isLast && moment === 'before') die()
    const answer = await make()
    return isLast ? die() : answer
  }
  return { db: tapped(db, tap), isDead: () => dead }
}

/** A promise that is resolved from elsewhere. */
export function signal(): { readonly given: Promise<void>; give(): void } {
  let give = (): void => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give: () => give() }
}

/** A database whose `number`th call of this kind reaches the server only when it is released. */
export function holding(
  db: Db,
  { collection, method }: Call,
  number = 1,
): { readonly db: Db; readonly held: Promise<void>; release(): Promise<void> } {
  const held = signal()
  const released = signal()
  const over = signal()
  let count = 0
  return {
    db: tapped(db, async (call, make) => {
      const isIt = call.collection.endsWith(collection) && call.method === method && ++count === number
      if (!isIt) return await make()
      held.give()
      await released.given
      try {
        return await make()
      } finally {
        over.give()
      }
    }),
    held: held.given,
    async release() {
      released.give()
      await over.given
    },
  }
}
