/** How stored errors become real errors again: what a `catch` sees after a replay is what it saw before. */

import { describe, errorBrand } from './describe.ts'
import * as errors from './errors.ts'
import { deserialize } from './serialize.ts'

/** An error as JSON. `encodeError` writes it, with every part bounded. */
export interface ErrorRecord {
  /** The name of the error, or of its class when it did not set one. */
  readonly name: string
  readonly message: string
  /** The built-in class that it is an instance of, unless that is Error itself. */
  readonly base?: string
  /** It was an error of this package: `code` says of which class. */
  readonly perdure?: true
  readonly code?: string | number
  readonly permanent?: true
  readonly stack?: string
  readonly cause?: ErrorNode
  /** Members of an `AggregateError`. */
  readonly errors?: readonly ErrorNode[]
  /** Own enumerable fields, each with its encoded value. */
  readonly data?: readonly (readonly [string, string])[]
  /** Names of the parts that could not be kept. */
  readonly dropped?: readonly string[]
}

/** An error, or the encoded value of something else that was thrown. */
export type ErrorNode = ErrorRecord | { readonly value: string }

type ErrorClass = abstract new (...args: never[]) => Error

/** The built-in classes that are restored, by name. */
export const builtinErrors: ReadonlyMap<string, ErrorClass> = new Map<string, ErrorClass>([
  ['TypeError', TypeError],
  ['RangeError', RangeError],
  ['SyntaxError', SyntaxError],
  ['ReferenceError', ReferenceError],
  ['EvalError', EvalError],
  ['URIError', URIError],
  ['AggregateError', AggregateError],
])

/** The classes of this package by the `code` of their instances. */
const byCode: ReadonlyMap<unknown, { readonly prototype: errors.PerdureError }> = new Map<
  string,
  { readonly prototype: errors.PerdureError }
>([
  ['INVALID_ARGUMENT', errors.InvalidArgumentError],
  ['INVALID_DURATION', errors.InvalidDurationError],
  ['INVALID_NAME', errors.InvalidNameError],
  ['INVALID_INPUT', errors.InvalidInputError],
  ['UNSERIALIZABLE_VALUE', errors.UnserializableValueError],
  ['VALUE_TOO_LARGE', errors.ValueTooLargeError],
  ['JOURNAL_LIMIT', errors.JournalLimitError],
  ['UNKNOWN_WORKFLOW', errors.UnknownWorkflowError],
  ['DUPLICATE_WORKFLOW', errors.DuplicateWorkflowError],
  ['RUN_NOT_FOUND', errors.RunNotFoundError],
  ['RUN_STATE', errors.RunStateError],
  ['RUN_CONFLICT', errors.RunConflictError],
  ['NON_DETERMINISM', errors.NonDeterminismError],
  ['RUN_FAILED', errors.RunFailedError],
  ['RUN_CANCELLED', errors.RunCancelledError],
  ['CHILD_CANCELLED', errors.ChildCancelledError],
  ['STEP_TIMEOUT', errors.StepTimeoutError],
  ['RUN_TIMEOUT', errors.RunTimeoutError],
  ['WAIT_TIMEOUT', errors.WaitTimeoutError],
  ['STEP_INTERRUPTED', errors.StepInterruptedError],
  ['NESTED_STEP', errors.NestedStepError],
  ['POISONED_RUN', errors.PoisonedRunError],
  ['CLAIM_LOST', errors.ClaimLostError],
  ['ENGINE_CLOSED', errors.EngineClosedError],
  ['STORE_UNAVAILABLE', errors.StoreError],
  ['STORE_FULL', errors.StoreError],
  ['STORE_READ_ONLY', errors.StoreError],
  ['STORE_CORRUPT', errors.StoreError],
  ['STORE_NEWER_SCHEMA', errors.StoreError],
  ['STORE_MISSING_DRIVER', errors.StoreError],
  ['PERMANENT', errors.PermanentError],
  ['RETRY_AFTER', errors.RetryAfterError],
])

/**
 * Decodes what `encodeError` wrote: a real error with its class where that is built in or of this package (else an
 * Error with the name of its class), own fields, cause and stack; or the value that was thrown. Parts that
 * could not be kept are listed in a non-enumerable `dropped`.
 *
 * @throws {UnserializableValueError} when the text is anything else
 */
export function decodeError(text: string): unknown {
  try {
    return thrownFrom(JSON.parse(text) as ErrorNode)
  } catch (cause) {
    throw new errors.UnserializableValueError(
      `Stored text cannot be read as an error (${describe(cause)}). It was not written by perdure, or was ` +
        'changed since.',
      { cause },
    )
  }
}

function thrownFrom(node: ErrorNode): unknown {
  if ('value' in node) return deserialize(node.value, decodeError)
  if (typeof node.name !== 'string' || typeof node.message !== 'string')
    throw new TypeError('no name or message')
  const error = new Error(node.message)
  // Of an Error made as such, unlike of a mere object, every tool knows that it is one.
  Object.setPrototypeOf(error, prototypeOf(node))
  restoreHidden(error, node)
  for (const [key, value] of node.data ?? []) define(error, key, deserialize(value, decodeError), true)
  if (error.name !== node.name && !Object.hasOwn(error, 'name')) define(error, 'name', node.name, false)
  // Fields come with their own `code` and `permanent`; these two are kept even where the fields are not.
  for (const key of ['code', 'permanent'] as const) {
    if (node[key] !== undefined && !Object.hasOwn(error, key)) define(error, key, node[key], false)
  }
  return error
}

function prototypeOf({ perdure, code, base }: ErrorRecord): object {
  if (perdure) return (byCode.get(code) ?? errors.PerdureError).prototype
  return (builtinErrors.get(base ?? '') ?? Error).prototype
}

/** The parts that a for-in loop over the original did not see either. */
function restoreHidden(error: Error, node: ErrorRecord): void {
  // The stack of this decoding would mislead. Assigned, since defining it makes V8 format that one first.
  error.stack = node.stack ?? `${node.name}: ${node.message}`
  if (node.perdure) Object.defineProperty(error, errorBrand, { value: true, enumerable: false })
  if (node.cause) define(error, 'cause', thrownFrom(node.cause), false)
  if (node.base === 'AggregateError') define(error, 'errors', (node.errors ?? []).map(thrownFrom), false)
  if (node.dropped) define(error, 'dropped', node.dropped, false)
}

function define(error: Error, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(error, key, { value, enumerable, writable: true, configurable: true })
}
