/** Which failures of an HTTP call are final: by the status alone, wherever the client puts it. */

import { isPermanent, retryAfterOf } from './error-codec.ts'
import { MAX_ERROR_CAUSES } from './limits.ts'

/**
 * The client errors that are about the moment, not about the request: Request Timeout (RFC 9110, 15.5.9), Too Early
 * (RFC 8470, 5.2), Too Many Requests (RFC 6585, 4).
 */
const passing: ReadonlySet<number> = new Set([408, 425, 429])

/**
 * Whether an HTTP call failed in a way that the same request will fail again: its status is 4xx (RFC 9110, 15.5), but
 * not 408, 425 or 429. Everything else may pass: 5xx, a refused connection, and what is no HTTP error at all.
 *
 * The status is a number or three digits of text. It is looked for in `status`, `statusCode`, `response.status` and
 * `response.statusCode`, in this order (axios, got, ky, undici, a thrown `Response`, …), then in the same way in up to 8
 * causes; the first that is found decides. A `RetryAfterError` has decided already, whatever caused it. Never throws.
 *
 * Ask where the call is made: in the step's body or its `retryIf`. The error that a step throws into the workflow is the
 * one that the journal kept, which has no `response`; the status of ky and got is not in it any more.
 *
 * Some services answer 400 or 403 when they are only busy (AWS throttles with 400, GitHub with 403): throw a
 * `RetryAfterError` for these.
 *
 * @example
 * await step.do('charge', () => api.post('/charges', charge), {
 *   retries: 5,
 *   retryIf: (error) => !isPermanentHttpError(error) && !(error instanceof CardRefused),
 * })
 */
export function isPermanentHttpError(error: unknown): boolean {
  const status = httpStatusOf(error)
  return status !== null && status >= 400 && status < 500 && !passing.has(status)
}

/**
 * A `retryIf` for steps that make HTTP calls: gives up at once on what {@link isPermanentHttpError} calls permanent, and,
 * like every step, on an error with `permanent: true`. Never throws.
 *
 * @example
 * await step.do('charge', () => ky.post(url, { json: charge, retry: 0 }).json(), {
 *   retries: 5,
 *   retryDelay: 'exponential',
 *   retryIf: retryUnlessPermanent,
 * })
 */
export function retryUnlessPermanent(error: unknown): boolean {
  return !isPermanent(error) && !isPermanentHttpError(error)
}

/** The status of the outermost error that has one. */
function httpStatusOf(error: unknown): number | null {
  let current = error
  for (let depth = 0; depth <= MAX_ERROR_CAUSES; depth++) {
    if (retryAfterOf(current) !== null) return null
    const status = ownStatusOf(current)
    if (status !== null) return status
    current = read(current, 'cause')
  }
  return null
}

function ownStatusOf(error: unknown): number | null {
  const response = read(error, 'response')
  return (
    toStatus(read(error, 'status')) ??
    toStatus(read(error, 'statusCode')) ??
    toStatus(read(response, 'status')) ??
    toStatus(read(response, 'statusCode'))
  )
}

/** `'failed'`, an exit code and the like are no HTTP status. Text is: JSON:API sends it so. */
function toStatus(value: unknown): number | null {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value
  return typeof status === 'number' && Number.isInteger(status) && status >= 100 && status <= 599
    ? status
    : null
}

/** A property of anything; `undefined` when there is none or reading it throws. */
function read(thing: unknown, key: string): unknown {
  if ((typeof thing !== 'object' && typeof thing !== 'function') || thing === null) return undefined
  try {
    return Reflect.get(thing, key)
  } catch {
    return undefined
  }
}
