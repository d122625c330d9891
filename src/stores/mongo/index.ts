/** The MongoDB store: collections in the database that the application already has; many machines may share them. */
import type { Db, MongoClient } from 'mongodb'
import { InvalidArgumentError } from '../../core/errors.ts'
import type { Store } from '../../ports/store.ts'
import { Connection } from './connection.ts'
import { openClient } from './driver.ts'
import { mongoStore } from './store.ts'

/** Options of {@link mongo}. */
export interface MongoOptions {
  /** The database. Default: that of the URL, else `perdure`. Not together with a `Db`. */
  readonly database?: string
  /** What the names of the collections begin with. Default: `perdure_`. */
  readonly prefix?: string
  /** How long one call may take before it is given up, in ms. Default: 10,000. */
  readonly timeout?: number
}

/**
 * A store in a MongoDB database (5.0 or newer; a replica set is not needed). Takes a URL, or the client or the database of
 * the application, which are left open when the store is closed. A store that was given a URL disconnects when it has not
 * been used for ten seconds, so that it does not keep the process alive, and connects again with the next call.
 *
 * A run is one document, which each write changes atomically; what a write does to other runs is written down there
 * first, and is carried out also if the process dies in between. Writes wait for the majority of the servers and for their
 * journals.
 *
 * @throws InvalidArgumentError if an argument has the wrong type.
 * @example
 * const engine = createEngine({ store: mongo('mongodb://localhost/shop'), workflows: [order] })
 */
export function mongo(database: string | MongoClient | Db, options: MongoOptions = {}): Store {
  const { prefix = 'perdure_', timeout: timeoutMs = 10_000 } = options
  check(database, { ...options, prefix, timeoutMs })
  const source = sourceOf(database, options.database, timeoutMs)
  return mongoStore(new Connection({ prefix, timeoutMs, ...source }))
}

/** The driver keeps the process alive while it is connected. A worker calls more often than this; a forgotten store lets go. */
const IDLE_MS = 10_000

interface Source {
  /** What messages call the database. */
  readonly place: string
  readonly open: () => Promise<Db>
  readonly close: () => Promise<void>
  readonly idle?: () => void
}

function sourceOf(database: string | MongoClient | Db, name: string | undefined, timeoutMs: number): Source {
  if (typeof database === 'string') return ownClient(database, name, timeoutMs)
  const db = isDb(database) ? database : database.db(name)
  const close = async (): Promise<void> => {}
  return { place: `mongo (${db.databaseName})`, open: async () => db, close }
}

function ownClient(url: string, name: string | undefined, timeoutMs: number): Source {
  const { hosts, path } = partsOf(url)
  const database = name ?? (path === '' ? 'perdure' : path)
  const place = `mongo (${hosts}/${database})`
  let opened: Promise<MongoClient> | null = null
  let timer: NodeJS.Timeout | undefined
  let db: Db | null = null
  const close = async (): Promise<void> => {
    clearTimeout(timer)
    const closing = opened
    opened = null
    db = null
    await closing?.then((client) => client.close())
  }
  return {
    place,
    close,
    idle() {
      clearTimeout(timer)
      timer = setTimeout(() => void close().catch(() => {}), IDLE_MS).unref()
    },
    async open() {
      clearTimeout(timer)
      opened ??= openClient(url, {
        appName: 'perdure',
        serverSelectionTimeoutMS: timeoutMs,
        connectTimeoutMS: timeoutMs,
        socketTimeoutMS: timeoutMs,
        maxPoolSize: 10,
      })
      const client = await opened
      db ??= client.db(database)
      return db
    },
  }
}

/** Hosts and database of a URL, without user and password. It may name several hosts, so `URL` cannot read it. */
function partsOf(url: string): { readonly hosts: string; readonly path: string } {
  const [, hosts = 'a database', path = ''] =
    /^mongodb(?:\+srv)?:\/\/(?:[^/]*@)?([^/?]+)(?:\/([^?]*))?/.exec(url) ?? []
  return { hosts, path: decoded(path) }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function isDb(database: MongoClient | Db): database is Db {
  return 'databaseName' in database
}

interface Settings {
  readonly database?: unknown
  readonly prefix: unknown
  readonly timeoutMs: unknown
}

function check(source: unknown, { database, prefix, timeoutMs }: Settings): void {
  const isUrl = typeof source === 'string' && /^mongodb(\+srv)?:\/\//.test(source)
  const isObject = typeof source === 'object' && source !== null
  if (!isUrl && !(isObject && ('databaseName' in source || 'db' in source))) {
    throw new InvalidArgumentError(
      'The MongoDB store needs a URL, a client or a database, e.g. mongo("mongodb://localhost/shop").',
    )
  }
  if (database !== undefined && isObject && 'databaseName' in source) {
    throw new InvalidArgumentError('The option "database" makes no sense together with a database.')
  }
  if (
    database !== undefined &&
    (typeof database !== 'string' || !/^[^\0/\\. "$*<>:|?]{1,63}$/.test(database))
  ) {
    throw new InvalidArgumentError('The option "database" must be a name of a database, e.g. "shop".')
  }
  if (typeof prefix !== 'string' || !/^[\w-][\w.-]{0,99}$/.test(prefix) || prefix.startsWith('system.')) {
    throw new InvalidArgumentError(
      'The option "prefix" must be letters, digits, "_", "-" or ".", e.g. "perdure_".',
    )
  }
  if (
    typeof timeoutMs !== 'number' ||
    !Number.isFinite(timeoutMs) ||
    timeoutMs < 1 ||
    timeoutMs > 2 ** 31 - 1
  ) {
    throw new InvalidArgumentError('The option "timeout" must be a number of ms, e.g. 10_000.')
  }
}
