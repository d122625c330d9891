/** The PostgreSQL store: a schema in the database that the application already has; many machines may share it. */
import type { Pool, PoolConfig } from 'pg'
import { InvalidArgumentError } from '../../core/errors.ts'
import { PostgresHub } from '../../notifiers/postgres/index.ts'
import type { Store } from '../../ports/store.ts'
import { Connections } from './connections.ts'
import { guard, openPool } from './driver.ts'
import type { Place } from './migrate.ts'
import { identifier } from './quoting.ts'
import { postgresStore } from './store.ts'

/** Options of {@link postgres}. */
export interface PostgresOptions {
  /**
   * The schema of the tables; any name. It is created by `migrate()` if it is missing. Default: what the URL says
   * (`?schema=…`), else `perdure`.
   */
  readonly schema?: string
  /** How many connections to open at most, if not given a pool: from 1. Default: 5. */
  readonly connections?: number
  /** How long one call may take before it is given up and its connection replaced, in ms. Default: 10,000. */
  readonly timeout?: number
}

/**
 * A store in a PostgreSQL database (14 or newer). Takes a URL, the configuration of a `pg` pool, or the pool that the
 * application has; a pool is left open when the store is closed. Of its connections one is kept for commits and
 * heartbeats, so that steps which use up the pool do not keep themselves from being finished.
 *
 * Each call is one statement, and so one round trip and one transaction. Nothing is kept in a session, so a
 * pooler in transaction mode may stand between. Durable as far as the server's `fsync` and
 * `synchronous_commit` are.
 *
 * @throws InvalidArgumentError if an argument has the wrong type.
 * @example
 * const engine = createEngine({ store: postgres('postgres://localhost/shop'), workflows: [order] })
 */
export function postgres(database: string | PoolConfig | Pool, options: PostgresOptions = {}): Store {
  const {
    schema = schemaOf(database) ?? 'perdure',
    connections: max = 5,
    timeout: timeoutMs = 10_000,
  } = options
  check(database, { schema, max, timeoutMs })
  const place: Place = { name: `postgres (${placeOf(database)})`, schema, quoted: identifier(schema) }
  let opened: Promise<Pool> | null = null
  const pool = (): Promise<Pool> => {
    opened ??= isPool(database) ? guarded(database) : openPool(configOf(database, { max, timeoutMs }))
    return opened
  }
  const connections = new Connections({ place: place.name, pool, timeoutMs })
  const closePool = async (): Promise<void> => {
    if (!isPool(database)) await opened?.then((own) => own.end())
  }
  return postgresStore(connections, place, new PostgresHub({ pool, schema }), closePool)
}

async function guarded(pool: Pool): Promise<Pool> {
  guard(pool)
  return pool
}

function configOf(
  database: string | PoolConfig,
  { max, timeoutMs }: { readonly max: number; readonly timeoutMs: number },
): PoolConfig {
  const own = typeof database === 'string' ? { connectionString: database } : database
  return {
    application_name: 'perdure',
    connectionTimeoutMillis: timeoutMs,
    keepAlive: true,
    allowExitOnIdle: true,
    max,
    ...own,
  }
}

function schemaOf(database: unknown): string | null {
  if (typeof database !== 'string' || !URL.canParse(database)) return null
  return new URL(database).searchParams.get('schema')
}

function isPool(database: string | PoolConfig | Pool): database is Pool {
  return typeof database === 'object' && 'connect' in database && 'totalCount' in database
}

/** Host and database, without user and password. */
function placeOf(database: string | PoolConfig | Pool): string {
  if (typeof database !== 'string') {
    const { host, database: name, connectionString } = isPool(database) ? database.options : database
    return connectionString === undefined ? `${host ?? 'localhost'}/${name ?? ''}` : placeOf(connectionString)
  }
  try {
    const { host, pathname } = new URL(database)
    return `${host}${pathname}`
  } catch {
    return 'a database'
  }
}

interface Settings {
  readonly schema: string
  readonly max: number
  readonly timeoutMs: number
}

function check(database: unknown, { schema, max, timeoutMs }: Settings): void {
  if (
    database === '' ||
    (typeof database !== 'string' && (typeof database !== 'object' || database === null))
  ) {
    throw new InvalidArgumentError(
      'The PostgreSQL store needs a URL or a pool, e.g. postgres("postgres://localhost/shop").',
    )
  }
  if (
    typeof schema !== 'string' ||
    schema === '' ||
    schema.includes('\0') ||
    Buffer.byteLength(schema) > 63
  ) {
    throw new InvalidArgumentError('The option "schema" must be a name of 1 to 63 bytes, e.g. "perdure".')
  }
  if (!Number.isInteger(max) || max < 1) {
    throw new InvalidArgumentError('The option "connections" must be a whole number from 1.')
  }
  if (!Number.isFinite(timeoutMs) || timeoutMs < 1 || timeoutMs > 2 ** 31 - 1) {
    throw new InvalidArgumentError('The option "timeout" must be a number of ms, e.g. 10_000.')
  }
}
