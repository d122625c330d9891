import { describe } from '../../core/describe.ts'
import { StoreError } from '../../core/errors.ts'

/** The SQLSTATE of an error of the database, e.g. `40P01`; `null` if it is none. */
export function sqlState(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null
  return /^[0-9A-Z]{5}$/.test(error.code) && !error.code.startsWith('E') ? error.code : null
}

/** Whether the same transaction may succeed if it is begun again at once. */
export function isWorthRepeating(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40P01' || state === '40001'
}

/** Whether a single write may be to blame, and not the call, the connection or the server. */
export function mayConcernOneWrite(error: unknown): boolean {
  const state = sqlState(error) ?? ''
  return state.startsWith('22') || state.startsWith('23') || state.startsWith('54')
}

/** Whether the connection can be used again after this error. */
export function sparesConnection(error: unknown): boolean {
  const state = sqlState(error)
  // 25006: a read-only server, as after a failover; another connection may reach the one that took over. 57P..: it is going away.
  return state !== null && state !== '25006' && !state.startsWith('57P') && !state.startsWith('08')
}

/** The error of this package for whatever went wrong with the database that messages call `place`. */
export function toStoreError(error: unknown, place: string): StoreError {
  if (error instanceof StoreError) return error
  const state = sqlState(error) ?? ''
  const options = { cause: error }
  if (state === '53100') {
    return new StoreError('full', `${place} cannot grow: its disk is full. Nothing was written.`, options)
  }
  if (state.startsWith('XX')) {
    return new StoreError('corrupt', `${place} reports an internal error (${describe(error)}).`, options)
  }
  return new StoreError('unavailable', `${place} ${reason(state, error)}`, options)
}

function reason(state: string, error: unknown): string {
  if (missing.has(state)) {
    return `has no tables of perdure, or other ones (${describe(error)}). Call migrate() first.`
  }
  switch (state) {
    case '55P03':
      return 'holds a lock on a run for another transaction, which did not let go in time. Nothing was written. Look for a long transaction on the tables of perdure.'
    case '53300':
      return `has no connection left (${describe(error)}). Raise max_connections, or lower the option "connections".`
    case '42501':
      return `does not allow this user what is needed (${describe(error)}).`
    default:
      return `could not be used: ${describe(error)}.`
  }
}

/** Undefined table, column, function, type or schema. */
const missing: ReadonlySet<string> = new Set(['42P01', '42703', '42883', '42704', '3F000'])
