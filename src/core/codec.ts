/**
 * How values become text and come back. Everything that crosses the journal goes through here, on the first
 * execution as on a replay, so both see the same value.
 */

import { decodeError, encodeError } from './error-codec.ts'
import { ValueTooLargeError } from './errors.ts'
import { deserialize, serialize } from './serialize.ts'
import { utf8Length } from './utf8.ts'

/** What {@link encodeValue} needs to know about a value. */
export interface EncodeOptions {
  /** Names the value in messages, e.g. `'The result of step "pay"'`. */
  readonly what: string
  /** Largest encoded size, in bytes of UTF-8. */
  readonly maxBytes: number
}

/**
 * Encodes a value as one line of well-formed text, with neither NUL nor lone surrogates (they are escaped, and
 * come back).
 *
 * Comes back equal: everything of JSON, and `undefined`, NaN, ±Infinity, -0, BigInt, Date (invalid ones too), Map,
 * Set, RegExp, URL, URLSearchParams, Temporal values, ArrayBuffer, typed arrays, sparse arrays, circular and
 * shared references, own `__proto__` keys, objects without prototype, and errors (see `encodeError`). A Buffer
 * comes back as a Uint8Array. Own properties of arrays and dates beside their content, non-enumerable
 * properties and `RegExp.lastIndex` are not kept; getters are read. `toJSON` is NOT called: a value comes back as
 * what it was, or is refused.
 *
 * @throws {UnserializableValueError} for functions, symbols, promises, instances of classes, parts that throw when
 *   read, and nesting deeper than 500 levels; the message names the path
 * @throws {ValueTooLargeError} when the encoded text is larger than `maxBytes`
 */
export function encodeValue(value: unknown, options: EncodeOptions): string {
  const text = encodeSmall(value) ?? serialize(value, options.what, encodeError)
  // Each UTF-16 unit is at most 3 bytes: most values need no count.
  if (text.length * 3 > options.maxBytes) checkSize(text, options)
  return text
}

/**
 * Decodes what {@link encodeValue} wrote.
 *
 * @throws {UnserializableValueError} when the text is anything else
 */
export function decodeValue(text: string): unknown {
  return deserialize(text, decodeError)
}

function checkSize(text: string, { what, maxBytes }: EncodeOptions): void {
  const bytes = utf8Length(text)
  if (bytes <= maxBytes) return
  throw new ValueTooLargeError(
    `${what} has ${bytes} bytes when encoded; at most ${maxBytes} are allowed. Keep large data elsewhere and store ` +
      'a reference to it, or raise the option maxValueBytes of the engine.',
  )
}

// The short ways below write exactly what devalue would, at a quarter of its cost. They return `undefined` for
// whatever is not plainly within their reach.

/** What devalue escapes in text, and some that it does not: those only take the longer way. */
const special = /["<\\\p{Cc}\p{Surrogate}\u2028\u2029]/u

/** More keys than this are left to devalue: looking for equal values would no longer be cheap. */
const MAX_FLAT_KEYS = 12

function encodeSmall(value: unknown): string | undefined {
  try {
    return encodePrimitive(value) ?? encodeFlat(value)
  } catch {
    // A getter or a proxy threw: the long way finds the path to it.
    return undefined
  }
}

function encodePrimitive(value: unknown): string | undefined {
  if (value === undefined) return '-1'
  const text = primitiveText(value)
  return text === undefined ? undefined : `[${text}]`
}

/** The text of a primitive that stands for itself. */
function primitiveText(value: unknown): string | undefined {
  if (typeof value === 'string') return isSimple(value) ? `"${value}"` : undefined
  if (value === null || typeof value === 'boolean') return String(value)
  // NaN, ±Infinity and -0 have codes of their own.
  if (typeof value === 'number' && Number.isFinite(value) && !Object.is(value, -0)) return String(value)
  return undefined
}

function isSimple(text: string): boolean {
  return !special.test(text)
}

/** A small record of primitives: by far the most frequent result of a step. */
function encodeFlat(value: unknown): string | undefined {
  if (!isBareRecord(value)) return undefined
  const keys = Object.keys(value)
  if (keys.length > MAX_FLAT_KEYS) return undefined
  const seen: unknown[] = []
  let record = ''
  let parts = ''
  for (const key of keys) {
    if (!isSimple(key) || key.startsWith('__proto__')) return undefined
    const part = value[key]
    const text = part === undefined ? '' : primitiveText(part)
    if (text === undefined) return undefined
    // Equal values are written once, and `undefined` has a code instead of a place.
    let index = part === undefined ? -1 : seen.indexOf(part) + 1
    if (index === 0) {
      index = seen.push(part)
      parts += `,${text}`
    }
    record += `${record === '' ? '' : ','}"${key}":${index}`
  }
  return `[{${record}}${parts}]`
}

function isBareRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype &&
    Object.getOwnPropertySymbols(value).length === 0 &&
    Object.prototype.toString.call(value) === '[object Object]'
  )
}
