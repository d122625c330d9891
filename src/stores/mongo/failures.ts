/** What errors of the driver and the server mean. */
import { describe } from '../../core/describe.ts'
import { isPerdureError, type PerdureError, StoreError } from '../../core/errors.ts'

/** The number that the server gives its errors; `null` if it is none of the server's. */
export function codeOf(error: unknown): number | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : null
}

/** What went wrong with one operation of several. */
export interface OperationError {
  readonly index: number
  readonly code: number
  readonly message: string
}

/** The operations of a bulk write that failed while others may have succeeded; `null` if the whole call failed. */
export function operationErrors(error: unknown): readonly OperationError[] | null {
  if (!(error instanceof Error) || !('writeErrors' in error)) return null
  // Not acknowledged by enough servers: what was written may be rolled back.
  if (hasConcernErrors(error)) return null
  const list: unknown[] = [error.writeErrors].flat()
  const errors = list.flatMap(toOperationError)
  return errors.length > 0 && errors.length === list.length ? errors : null
}

function hasConcernErrors(error: object): boolean {
  if (!('result' in error) || typeof error.result !== 'object' || error.result === null) return false
  const { result } = error
  return (
    'getWriteConcernError' in result &&
    typeof result.getWriteConcernError === 'function' &&
    result.getWriteConcernError() !== undefined
  )
}

function toOperationError(item: unknown): readonly OperationError[] {
  if (typeof item !== 'object' || item === null || !('index' in item) || !('code' in item)) return []
  const { index, code } = item
  const message = 'errmsg' in item && typeof item.errmsg === 'string' ? item.errmsg : `error ${String(code)}`
  return typeof index === 'number' && typeof code === 'number' ? [{ index, code, message }] : []
}

export const DUPLICATE_KEY = 11_000
const COMMAND_NOT_FOUND = 59

export function isUnknownCommand(error: unknown): boolean {
  return codeOf(error) === COMMAND_NOT_FOUND
}

/** Whether the server cannot read what a majority has: such a read concern is not enabled, or there is no replica set. */
export function refusesMajority(error: unknown): boolean {
  const code = codeOf(error)
  return code === 148 || code === 123
}

/** Whether this one operation is to blame, and not the server or the connection. */
export function concernsOneWrite(code: number): boolean {
  return oneWrite.has(code)
}

/** Bad value, failed to parse, document fails validation, object too large (of several layers). */
const oneWrite: ReadonlySet<number> = new Set([2, 9, 121, 10334, 17280, 17419, 17420])

/** Out of disk space, and a quota that is used up. */
const full: ReadonlySet<number> = new Set([14031, 12501])
/** Of hosted databases, whose errors share a number. */
const fullMessage = /no space left|space quota/i
/** Invalid BSON, and a document of an impossible size. */
const corrupt: ReadonlySet<number> = new Set([22, 10330])
const unauthorized: ReadonlySet<number> = new Set([13, 18])

/** The error of this package for whatever went wrong with the database that messages call `place`. */
export function toStoreError(error: unknown, place: string): PerdureError {
  if (isPerdureError(error)) return error
  const code = codeOf(error)
  const options = { cause: error }
  const reason = withoutPassword(describe(error))
  if (code !== null && (full.has(code) || fullMessage.test(reason))) {
    return new StoreError(
      'full',
      `${place} cannot grow (${reason}). Free space, or raise its quota.`,
      options,
    )
  }
  if (code !== null && corrupt.has(code)) {
    return new StoreError('corrupt', `${place} holds data that cannot be read (${reason}).`, options)
  }
  if (code !== null && unauthorized.has(code)) {
    return new StoreError(
      'unavailable',
      `${place} does not allow this user what is needed (${reason}).`,
      options,
    )
  }
  return new StoreError('unavailable', `${place} could not be used: ${reason}.`, options)
}

/** Errors of the driver may repeat the URL. */
function withoutPassword(text: string): string {
  return text.replaceAll(/\/\/[^/\s]*@/g, '//…@')
}
