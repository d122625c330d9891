import { existsSync, statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import type { SqlValue } from '../sql/rows.ts'
import { fromStoredText, toStoredText } from '../sql/text.ts'
import type { Connection, OpenConnection, Statement } from './driver.ts'
import { breaksConnection, isBusy } from './failures.ts'

/** How the store's thread opens its database. Plain data: it crosses the thread boundary. */
export interface DatabaseOptions {
  readonly path: string
  readonly synchronous: 'full' | 'normal'
  readonly busyTimeout: number
  readonly readOnly: boolean
  readonly driver: string | null
}

/** How often at most a transaction is done that meets another process's lock within the time it may wait. */
const BUSY_ATTEMPTS = 5

/** The write-ahead log is folded back at this many pages of 4 KiB, and cut to `WAL_LIMIT` bytes if it grew beyond. */
const CHECKPOINT_PAGES = 1_000
const WAL_LIMIT = 8 * 1024 * 1024

const CACHE_KIB = 32 * 1024

/** One connection: opened when first used, and again after a failure that broke it. */
export class Database {
  readonly #open: OpenConnection
  readonly #options: DatabaseOptions
  readonly #statements = new Map<string, Statement>()
  #connection: Connection | null = null

  constructor(open: OpenConnection, options: DatabaseOptions) {
    this.#open = open
    this.#options = options
  }

  get path(): string {
    return this.#options.path
  }

  get readOnly(): boolean {
    return this.#options.readOnly
  }

  /** Executes statements without parameters, e.g. a migration. */
  exec(sql: string): void {
    this.#connected().exec(sql)
  }

  /** Executes a write; returns how many rows it changed. */
  run(sql: string, ...values: SqlValue[]): number {
    return Number(this.#statement(sql).run(...encoded(values)).changes)
  }

  /** The first row. `Row` is what the select list says; nothing checks it. */
  get<Row extends object>(sql: string, ...values: SqlValue[]): Row | undefined {
    const row = this.#statement(sql).get(...encoded(values))
    return row === undefined || row === null ? undefined : decoded<Row>(row)
  }

  /** All rows. */
  all<Row extends object>(sql: string, ...values: SqlValue[]): Row[] {
    const rows = this.#statement(sql).all(...encoded(values))
    return rows.map((row) => decoded<Row>(row))
  }

  /**
   * Runs `body` in one transaction that holds the write lock from its start, so that no read in it can be
   * outdated when it writes. If another process is in the way, the whole transaction is done again: a
   * statement alone could never succeed on an old snapshot.
   */
  write<T>(body: () => T): T {
    const patience = performance.now() + this.#options.busyTimeout
    for (let attempt = 1; ; attempt++) {
      try {
        return this.#transaction(body)
      } catch (error) {
        if (!isBusy(error) || attempt === BUSY_ATTEMPTS || performance.now() >= patience) throw error
      }
    }
  }

  /** Runs `body` so that its writes can be undone without ending the transaction around it. */
  savepoint<T>(body: () => T): T {
    this.run('SAVEPOINT perdure_write')
    try {
      const result = body()
      this.run('RELEASE perdure_write')
      return result
    } catch (error) {
      this.#attempt('ROLLBACK TO perdure_write')
      this.#attempt('RELEASE perdure_write')
      throw error
    }
  }

  /** What `body` finds in the file, which it cannot change in any way; `null` if there is no file yet. */
  look<Result>(body: (reader: Database) => Result): Result | null {
    if (this.readOnly || this.path === ':memory:') return body(this)
    if (!existsSync(this.path)) return null
    const reader = new Database(this.#open, { ...this.#options, readOnly: true })
    try {
      return body(reader)
    } finally {
      reader.close()
    }
  }

  /** Tells the database of a failure, so that the next call starts on a connection that can work. */
  noteFailure(error: unknown): void {
    // A database in memory is lost with its connection, so it keeps it whatever happened.
    if (breaksConnection(error) && this.path !== ':memory:') this.close()
  }

  close(): void {
    const connection = this.#connection
    this.#connection = null
    this.#statements.clear()
    try {
      connection?.close()
    } catch {
      // What broke the connection may also keep it from being closed in order; the file is safe either way.
    }
  }

  #transaction<T>(body: () => T): T {
    this.run('BEGIN IMMEDIATE')
    try {
      const result = body()
      this.run('COMMIT')
      return result
    } catch (error) {
      this.#attempt('ROLLBACK')
      throw error
    }
  }

  /** Undoes, where there may be nothing to undo: after a full disk or an I/O error SQLite has done so itself. */
  #attempt(sql: string): void {
    try {
      this.run(sql)
    } catch {
      // The error that led here says more than this one.
    }
  }

  #statement(sql: string): Statement {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#connected().prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  #connected(): Connection {
    this.#connection ??= connect(this.#open, this.#options)
    return this.#connection
  }
}

function connect(open: OpenConnection, options: DatabaseOptions): Connection {
  const connection = openFile(open, options)
  try {
    configure(connection, options)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

function openFile(open: OpenConnection, { path, readOnly }: DatabaseOptions): Connection {
  if (!readOnly || !isSettled(path)) return open(path, readOnly)
  // Nobody has the file open and nothing is in its log. In a folder that cannot be written SQLite could not
  // create its companion files and would refuse to read, unless told that they are not needed.
  const connection = open(path, true)
  try {
    connection.prepare('SELECT count(*) FROM sqlite_schema').get()
    return connection
  } catch {
    connection.close()
    return open(`${pathToFileURL(path).href}?immutable=1`, true)
  }
}

function isSettled(path: string): boolean {
  const log = `${path}-wal`
  return existsSync(path) && (!existsSync(log) || statSync(log).size === 0)
}

function configure(connection: Connection, options: DatabaseOptions): void {
  connection.exec(`PRAGMA busy_timeout = ${options.busyTimeout}`)
  // Reads the file's header: a file that is no database is found before anything is changed.
  connection.prepare('SELECT count(*) FROM sqlite_schema').get()
  connection.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
  if (options.readOnly) return
  enterWalMode(connection, options.busyTimeout)
  connection.exec(`PRAGMA synchronous = ${options.synchronous}`)
  connection.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  connection.exec(`PRAGMA journal_size_limit = ${WAL_LIMIT}`)
}

/** The switch to WAL, unlike all else, does not wait for locks by itself when several processes start at once. */
function enterWalMode(connection: Connection, busyTimeout: number): void {
  const pauseMs = 10
  for (let waited = 0; ; waited += pauseMs) {
    try {
      connection.prepare('PRAGMA journal_mode = WAL').get()
      return
    } catch (error) {
      if (!isBusy(error) || waited >= busyTimeout) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs)
    }
  }
}

/** In place: the list was made for this call. */
function encoded(values: SqlValue[]): SqlValue[] {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]
    if (typeof value === 'string') values[i] = toStoredText(value)
  }
  return values
}

function decoded<Row extends object>(row: unknown): Row {
  const values = row as Record<string, unknown>
  for (const name in values) {
    const value = values[name]
    if (typeof value === 'string') values[name] = fromStoredText(value)
  }
  return row as Row
}
