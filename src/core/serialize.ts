/**
 * The one place that knows how values become text: devalue, with these differences.
 *
 * - What devalue would change silently (instances of subclasses, objects that pose as another type) is refused.
 * - Own `__proto__` keys are kept, written as `__proto__~`; nothing ever reaches a prototype.
 * - Errors go through a codec that the caller passes in.
 * - Nesting is bounded, and getters or proxies that throw become a refusal that names the path.
 * - A view of a part of a buffer is stored as just that part, so that no bytes beside it leak.
 */

import { DevalueError, parse, type StringifyOptions, stringify } from 'devalue'
import { describe } from './describe.ts'
import { UnserializableValueError } from './errors.ts'
import { MAX_VALUE_DEPTH } from './limits.ts'

/** Writes an error as text; `undefined` refuses it. */
export type ReduceError = (error: object) => string | undefined

/** Makes an error of what {@link ReduceError} wrote. */
export type ReviveError = (text: string) => unknown

type Operations = NonNullable<StringifyOptions['operations']>

/** Stand in for a child that must not be written: devalue refuses symbols, and knows the path to them. */
const UNREADABLE = Symbol('unreadable')
const TOO_DEEP = Symbol('too deep')

/** A tag that devalue does not know: it then asks for the shape, which is `not-plain`. */
const FOREIGN = 'foreign'

const notPlain = { kind: 'not-plain' } as const
const symbolKeys = { kind: 'symbol-keys' } as const

/**
 * Encodes a value as one line of well-formed text without NUL or lone surrogates: they are escaped.
 *
 * @param what names the value in the message of an error
 * @throws {UnserializableValueError} naming the path to the part that cannot be stored
 */
export function serialize(value: unknown, what: string, reduceError: ReduceError): string {
  const walk: Walk = { root: value, depths: new Map(), failed: undefined }
  const reducers = { Error: (part: unknown) => (isErrorObject(part) ? reduceError(part) : undefined) }
  try {
    return stringify(value, reducers, { operations: operationsFor(walk) })
  } catch (error) {
    throw refusal(error, what, walk)
  }
}

/**
 * Decodes what {@link serialize} wrote.
 *
 * @throws {UnserializableValueError} when the text is anything else
 */
export function deserialize(text: string, reviveError: ReviveError): unknown {
  try {
    // Merging operations costs more than looking for the only keys that need one.
    return parse(
      text,
      { Error: reviveError },
      text.includes('__proto__~') ? { operations: { set } } : undefined,
    )
  } catch (cause) {
    throw new UnserializableValueError(
      `Stored text cannot be read as a value (${describe(cause)}). It was not written by perdure, or was changed since.`,
      { cause },
    )
  }
}

/** Whether a value is an error, of this realm or another. Never throws. */
export function isErrorObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  try {
    return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]'
  } catch {
    return false
  }
}

/** What is known while one value is walked. */
interface Walk {
  readonly root: unknown
  /** How deep each object below the root (1) lies. devalue descends right after reading a child, so the first parent counts. */
  readonly depths: Map<object, number>
  /** What reading a part of the value threw. */
  failed: { readonly thrown: unknown } | undefined
}

function operationsFor(walk: Walk): Operations {
  const attempt = <T>(otherwise: T, read: () => T): T => {
    try {
      return read()
    } catch (thrown) {
      walk.failed ??= { thrown }
      return otherwise
    }
  }
  return {
    // After a failure these answers lead devalue to a refusal, or to the child, whose reading fails again.
    isThenable: (value: { then?: unknown }) => attempt(true, () => typeof value.then === 'function'),
    hasOwn: (value: object, key: string | number) => attempt(true, () => Object.hasOwn(value, key)),
    tagOf: (value: object) => attempt(FOREIGN, () => tagOf(value)),
    shapeOf: (value: object) => attempt(notPlain, () => shapeOf(value)),
    get: (value: Record<string | number, unknown>, key: string | number) =>
      attempt<unknown>(UNREADABLE, () => enter(walk, value, value[unescapeKey(key)])),
    valuesOf: (set: Set<unknown>) => valuesOf(walk, set),
    entriesOf: (map: Map<unknown, unknown>) => entriesOf(walk, map),
    viewInfo,
  }
}

/** Notes how deep `child` lies, or replaces it when that is too deep. */
function enter(walk: Walk, parent: object, child: unknown): unknown {
  if (typeof child !== 'object' || child === null) return child
  if (child === walk.root || walk.depths.has(child)) return child
  const depth = (walk.depths.get(parent) ?? 1) + 1
  if (depth > MAX_VALUE_DEPTH) return TOO_DEEP
  walk.depths.set(child, depth)
  return child
}

function* valuesOf(walk: Walk, set: Set<unknown>): Iterable<unknown> {
  for (const value of set) yield enter(walk, set, value)
}

function* entriesOf(walk: Walk, map: Map<unknown, unknown>): Iterable<[unknown, unknown]> {
  for (const [key, value] of map) yield [enter(walk, map, key), enter(walk, map, value)]
}

/** The type by which devalue writes an object, only if decoding gives that very type back. */
function tagOf(value: object): string {
  if (isPlain(value)) return 'Object'
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1)
  const className = constructorName(Object.getPrototypeOf(value))
  // Temporal's tags carry the namespace.
  if (className === tag || tag === `Temporal.${className}`) return tag
  // A Buffer comes back as the Uint8Array that it is: other runtimes have no Buffer.
  return tag === 'Uint8Array' && className === 'Buffer' ? tag : FOREIGN
}

function shapeOf(value: object): ReturnType<NonNullable<Operations['shapeOf']>> {
  if (!isPlain(value)) return notPlain
  const symbols = Object.getOwnPropertySymbols(value)
  if (symbols.some((symbol) => Object.prototype.propertyIsEnumerable.call(value, symbol))) return symbolKeys
  const keys = Object.keys(value)
  return {
    kind: Object.getPrototypeOf(value) === null ? 'null-proto' : 'plain',
    keys: keys.some(isProtoKey) ? keys.map((key) => (isProtoKey(key) ? `${key}~` : key)) : keys,
  }
}

/** Whether an object is a mere record: of `Object.prototype` (of any realm) or of none, not posing as a type. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (Object.prototype.toString.call(value) !== '[object Object]') return false
  if (prototype === Object.prototype || prototype === null) return true
  return typeof prototype === 'object' && Object.getPrototypeOf(prototype) === null && isRoot(prototype)
}

function isRoot(prototype: object): boolean {
  return Object.hasOwn(prototype, 'isPrototypeOf')
}

function constructorName(prototype: { constructor?: { name?: unknown } } | null): unknown {
  return prototype?.constructor?.name
}

/** `__proto__` and every key that an escaped `__proto__` could be taken for. */
function isProtoKey(key: string): boolean {
  return key.startsWith('__proto__') && /^~*$/.test(key.slice('__proto__'.length))
}

function unescapeKey(key: string | number): string | number {
  return typeof key === 'string' && isProtoKey(key) ? key.slice(0, -1) : key
}

/** Sets a property while decoding; `defineProperty`, because assigning to `__proto__` would set the prototype. */
function set(target: Record<string | number, unknown>, key: string | number, value: unknown): void {
  Object.defineProperty(target, unescapeKey(key), {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  })
}

function viewInfo(
  view: ArrayBufferView & { readonly length?: number },
): ReturnType<NonNullable<Operations['viewInfo']>> {
  const { byteLength, byteOffset } = view
  const whole = byteLength === view.buffer.byteLength
  const buffer = whole ? view.buffer : view.buffer.slice(byteOffset, byteOffset + byteLength)
  return { buffer, byteOffset: 0, byteLength, bufferByteLength: byteLength }
}

/** Longest path or name shown in a message. */
const MAX_SHOWN = 200

function refusal(error: unknown, what: string, walk: Walk): UnserializableValueError {
  if (error instanceof DevalueError) {
    const path = error.path.slice(0, MAX_SHOWN)
    const where = path === '' ? '' : `${path} is `
    return new UnserializableValueError(`${what} cannot be stored: ${where}${reason(error.value, walk)}`)
  }
  const why = error instanceof RangeError ? 'it is nested too deeply, or too large.' : `${describe(error)}.`
  return new UnserializableValueError(`${what} cannot be stored: ${why}`, { cause: error })
}

function reason(part: unknown, walk: Walk): string {
  if (part === TOO_DEEP) return `nested more than ${MAX_VALUE_DEPTH} levels deep. Flatten it.`
  if (walk.failed) return `unreadable: reading it threw ${saidBy(walk.failed.thrown)}.`
  if (typeof part === 'function') return 'a function. Store what it returns.'
  if (typeof part === 'symbol') return 'a symbol. Store its description.'
  return objectReason(part as object)
}

function objectReason(part: { then?: unknown }): string {
  if (typeof part.then === 'function') return 'a promise. Await it first.'
  if (isPlain(part)) return 'an object with symbol keys. Use text as keys.'
  const name = String(constructorName(Object.getPrototypeOf(part)) ?? 'a class').slice(0, MAX_SHOWN)
  return `an instance of ${name}, which would come back as something else. Store a plain object (toJSON is not called).`
}

function saidBy(thrown: unknown): string {
  return describe(thrown).slice(0, MAX_SHOWN)
}
