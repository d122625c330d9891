import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { StoreError } from '../../core/errors.ts'
import type { SqlValue } from '../sql/rows.ts'

/** The part of a SQLite driver that the store uses; `node:sqlite` and `better-sqlite3` agree on it. */
export interface Connection {
  exec(sql: string): unknown
  prepare(sql: string): Statement
  close(): void
}

/** A prepared statement. */
export interface Statement {
  run(...values: SqlValue[]): { readonly changes: number | bigint }
  get(...values: SqlValue[]): unknown
  all(...values: SqlValue[]): unknown[]
}

/** Opens a database file, or `:memory:`. */
export type OpenConnection = (path: string, readOnly: boolean) => Connection

/**
 * Loads the driver: the named one, else Node's own, else the optional dependency.
 *
 * @throws StoreError `missing-driver`
 */
export async function loadDriver(named: string | null): Promise<OpenConnection> {
  if (named !== null) return namedDriver(named)
  try {
    return opener(await importNodeSqlite())
  } catch {
    // This Node is older than 22.13, or was started without --experimental-sqlite.
  }
  try {
    return opener(await import('@photostructure/sqlite'))
  } catch (cause) {
    throw new StoreError(
      'missing-driver',
      `No SQLite driver was found. Node ${process.version} has none of its own: use Node 22.13 or newer, ` +
        'or "npm install @photostructure/sqlite", or name another one, e.g. sqlite(path, { driver: "better-sqlite3" }).',
      { cause },
    )
  }
}

async function namedDriver(name: string): Promise<OpenConnection> {
  try {
    return opener(await import(resolveFromProject(name)))
  } catch (cause) {
    throw new StoreError(
      'missing-driver',
      `The SQLite driver "${name}", named by the option "driver", cannot be loaded. Install it with ` +
        `"npm install ${name}", or leave the option out.`,
      { cause },
    )
  }
}

/** A user's package need not be visible from inside this one, so the user's folder is asked first. */
function resolveFromProject(name: string): string {
  if (name.startsWith('node:') || name.startsWith('file:')) return name
  try {
    const path = createRequire(join(process.cwd(), 'package.json')).resolve(name)
    return path.startsWith('node:') ? path : pathToFileURL(path).href
  } catch {
    return name
  }
}

type ConnectionClass = new (path: string, options: object) => Connection

/** The module's class, with its spelling of the one option: that of `node:sqlite`, or of `better-sqlite3`. */
function opener(module: Readonly<Record<string, unknown>>): OpenConnection {
  const { DatabaseSync, default: Database } = module
  if (isClass(DatabaseSync)) return (path, readOnly) => new DatabaseSync(path, { readOnly })
  if (isClass(Database)) return (path, readOnly) => new Database(path, { readonly: readOnly })
  throw new TypeError('The module exports no class to open a database with.')
}

function isClass(value: unknown): value is ConnectionClass {
  return typeof value === 'function'
}

async function importNodeSqlite(): Promise<Record<string, unknown>> {
  // Node warns on every start that this module is experimental. Who uses this package did not choose the
  // module and can do nothing about the warning, so it is dropped; all others pass.
  const original = process.emitWarning
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).includes('SQLite is an experimental feature')) return
    Reflect.apply(original, process, [warning, ...rest])
  }
  try {
    // A variable, because the types of the oldest supported Node do not have the module.
    const name: string = 'node:sqlite'
    return await import(name)
  } finally {
    process.emitWarning = original
  }
}
