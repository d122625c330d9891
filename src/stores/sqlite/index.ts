/** The SQLite store: one file, no server; several processes of one machine may share it. */
import { resolve } from 'node:path'
import { InvalidArgumentError } from '../../core/errors.ts'
import type { Store } from '../../ports/store.ts'
import { ThreadClient } from './client.ts'
import type { DatabaseOptions } from './database.ts'
import { startThread } from './start-thread.ts'
import { threadedStore } from './store.ts'

/** Options of {@link sqlite}. */
export interface SqliteOptions {
  /**
   * `'full'` (default): a commit that was answered survives a power cut. `'normal'`: it survives the death of
   * the process, but a power cut may undo the last ones; the file stays sound. Faster on slow disks.
   */
  readonly synchronous?: 'full' | 'normal'
  /** How long a call waits while another process writes, in ms. Default: 10,000. */
  readonly busyTimeout?: number
  /**
   * The driver, if not Node's own (Node 22.13 or newer) or `@photostructure/sqlite`: the name of a package or
   * the path of a module, e.g. `'better-sqlite3'`. It is imported in the store's thread, which is why it cannot be
   * passed as a class.
   */
  readonly driver?: string
  /** Only read: inspect a file that cannot be written, or must not be. Writes reject. */
  readonly readOnly?: boolean
}

/**
 * A store in the SQLite file at `path`, or in memory (`':memory:'`: lost with the process). The file is created
 * by `migrate()`, its folder is not. All work is done in a thread of its own, so neither a flush to disk nor
 * another process's lock blocks the caller; the thread keeps a process alive only while a call waits.
 *
 * @throws InvalidArgumentError if an option has the wrong type.
 * @example
 * const engine = createEngine({ store: sqlite('work.db'), workflows: [order] })
 */
export function sqlite(path: string, options: SqliteOptions = {}): Store {
  const settings = checked(path, options)
  const name = `sqlite (${path})`
  return threadedStore(name, new ThreadClient(name, () => startThread(settings)))
}

const defaultBusyTimeout = 10_000

function checked(path: string, options: SqliteOptions): DatabaseOptions {
  const { synchronous = 'full', busyTimeout = defaultBusyTimeout, driver = null, readOnly = false } = options
  if (typeof path !== 'string' || path === '') {
    throw new InvalidArgumentError('The path of an SQLite store must be text, e.g. sqlite("work.db").')
  }
  if (synchronous !== 'full' && synchronous !== 'normal') {
    throw new InvalidArgumentError('The option "synchronous" must be "full" or "normal".')
  }
  if (!Number.isSafeInteger(busyTimeout) || busyTimeout < 0 || busyTimeout > 2 ** 31 - 1) {
    throw new InvalidArgumentError('The option "busyTimeout" must be a whole number of ms, e.g. 10_000.')
  }
  if (driver !== null && typeof driver !== 'string') {
    throw new InvalidArgumentError(
      'The option "driver" must be the name of a package or the path of a module, e.g. "better-sqlite3": ' +
        "a class cannot enter the store's thread.",
    )
  }
  return { path: absolute(path), synchronous, busyTimeout, driver, readOnly }
}

/** The thread starts with the first call, when the process may have another current folder. */
function absolute(path: string): string {
  return path === ':memory:' || path.startsWith('file:') ? path : resolve(path)
}
