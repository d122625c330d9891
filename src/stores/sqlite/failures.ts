import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe } from '../../core/describe.ts'
import { StoreError } from '../../core/errors.ts'

/** The primary result code of an SQLite error, e.g. `BUSY`; `null` if it is none. */
export function resultCode(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null
  if ('errcode' in error && typeof error.errcode === 'number') {
    // The low byte is the primary code; the rest says more precisely why.
    return names.get(error.errcode & 0xff) ?? 'ERROR'
  }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return /^SQLITE_([A-Z]+)/.exec(code)?.[1] ?? null
}

const names: ReadonlyMap<number, string> = new Map([
  [5, 'BUSY'],
  [6, 'LOCKED'],
  [7, 'NOMEM'],
  [8, 'READONLY'],
  [10, 'IOERR'],
  [11, 'CORRUPT'],
  [13, 'FULL'],
  [14, 'CANTOPEN'],
  [15, 'PROTOCOL'],
  [26, 'NOTADB'],
])

/** Whether another connection is in the way: the transaction may be tried again from its start. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === 'BUSY' || code === 'LOCKED' || code === 'PROTOCOL'
}

/** Whether the connection is of no use any more and the next call should open a new one. */
export function breaksConnection(error: unknown): boolean {
  return breaking.has(resultCode(error) ?? '')
}

const breaking: ReadonlySet<string> = new Set(['READONLY', 'IOERR', 'CORRUPT', 'CANTOPEN', 'NOTADB', 'NOMEM'])

/** Whether an error condemns the whole call, and not only the write during which it came up. */
export function isCallFailure(error: unknown): boolean {
  if (error instanceof StoreError) return true
  return isBusy(error) || breaksConnection(error) || resultCode(error) === 'FULL' || isMissingSchema(error)
}

function isMissingSchema(error: unknown): boolean {
  return error instanceof Error && /no such (table|column)/.test(error.message)
}

/** The error of this package for whatever went wrong with the database at `path`. */
export function toStoreError(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error
  const place = `The SQLite database ${path}`
  const options = { cause: error }
  switch (resultCode(error)) {
    case 'FULL':
      return new StoreError(
        'full',
        `${place} cannot grow: the disk is full. Nothing was written. Free some space; the store goes on by itself.`,
        options,
      )
    case 'READONLY':
      return readOnlyError(path, options)
    case 'CORRUPT':
    case 'NOTADB':
      return new StoreError(
        'corrupt',
        `${place} is damaged or no SQLite database (${describe(error)}). It was left as it is. ` +
          'Name another file, or restore this one from a backup.',
        options,
      )
    case 'CANTOPEN':
      return cannotOpen(path, options)
    default:
      return new StoreError('unavailable', `${place} ${reason(error)}`, options)
  }
}

function reason(error: unknown): string {
  if (isBusy(error)) {
    return 'is locked by another process, which did not let go in time. Nothing was written. Look for a long transaction on this file, or raise the option "busyTimeout".'
  }
  if (isMissingSchema(error)) {
    return `has no tables of perdure, or other ones (${describe(error)}). Call migrate() first.`
  }
  return `could not be used: ${describe(error)}.`
}

function readOnlyError(path: string, options: { readonly cause: unknown }): StoreError {
  return new StoreError(
    'read-only',
    `The SQLite database ${path} cannot be written. Make the file and its folder writable (SQLite ` +
      'creates files beside it), or open it with { readOnly: true } and only read.',
    options,
  )
}

/** SQLite says the same for a missing folder, a folder in place of a file, and missing permissions. */
function cannotOpen(path: string, options: { readonly cause: unknown }): StoreError {
  const folder = dirname(path)
  if (!existsSync(folder)) {
    const message = `The folder ${folder} of the SQLite database does not exist. Create it, or name another path.`
    return new StoreError('unavailable', message, options)
  }
  if (!isWritable(folder) || (existsSync(path) && !isWritable(path))) return readOnlyError(path, options)
  return new StoreError(
    'unavailable',
    `The SQLite database ${path} cannot be opened. See whether it is a file that this process may read.`,
    options,
  )
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
