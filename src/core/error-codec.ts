/**
 * How whatever was thrown becomes text. Nothing that user code throws may break the engine: every read is
 * guarded, every part is bounded, and what cannot be kept is dropped and named.
 */

import { describe } from './describe.ts'
import { builtinErrors, type ErrorNode, type ErrorRecord } from './error-decode.ts'
import { isPerdureError } from './errors.ts'
import {
  MAX_ERROR_BYTES,
  MAX_ERROR_CAUSES,
  MAX_ERROR_FIELD_BYTES,
  MAX_ERROR_FIELDS,
  MAX_ERROR_MEMBERS,
  MAX_ERROR_MESSAGE,
  MAX_ERROR_NODES,
  MAX_ERROR_STACK,
  MAX_NAME_BYTES,
} from './limits.ts'
import { isErrorObject, serialize } from './serialize.ts'
import { utf8Length } from './utf8.ts'

export { decodeError } from './error-decode.ts'

/**
 * Encodes whatever was thrown. Never throws.
 *
 * Kept are name (of the class, when the error has none of its own; minified classes have minified names), message
 * (16 Ki characters), code, `permanent`, own enumerable fields, up to 8 causes, the first 16 members of
 * an AggregateError, and the stack (4 Ki characters); 64 KiB in all, first without the fields, then without the
 * stacks, then without causes and members. What is no error comes back as an equal value if the codec takes it, else as
 * an Error that describes it.
 */
export function encodeError(thrown: unknown): string {
  try {
    return textOf(nodeOf(thrown, { ancestors: [], left: MAX_ERROR_NODES }))
  } catch {
    // The stack is exhausted, or a proxy did what nobody thought of.
    return JSON.stringify({ name: 'Error', message: 'Something was thrown that cannot be read.' })
  }
}

/**
 * Whether trying again is pointless: the thrown object, or one of its first 8 causes, has `permanent: true`. By
 * that field alone, so that a second copy of the package and plain objects work. Never throws.
 */
export function isPermanent(thrown: unknown): boolean {
  let current = thrown
  for (let depth = 0; depth <= MAX_ERROR_CAUSES; depth++) {
    if (read(current, 'permanent') === true) return true
    current = read(current, 'cause')
  }
  return false
}

/** The delay that a `RetryAfterError` (of whichever copy of the package) asks for, else `null`. Never throws. */
export function retryAfterOf(thrown: unknown): number | string | null {
  if (read(thrown, 'code') !== 'RETRY_AFTER') return null
  const delay = read(thrown, 'retryAfter')
  return typeof delay === 'number' || typeof delay === 'string' ? delay : null
}

/** Where one encoding stands. */
interface Walk {
  /** The errors whose parts are being encoded: a second visit would never end. */
  readonly ancestors: unknown[]
  /** How many more errors may be written. */
  left: number
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

function nodeOf(thrown: unknown, walk: Walk): ErrorNode {
  const value = isErrorObject(thrown) ? undefined : encodePart(thrown, walk)
  return value === undefined ? recordOf(thrown, walk) : { value }
}

/** The node of an error below another one; `undefined` beyond the bounds. */
function childOf(thrown: unknown, walk: Walk): ErrorNode | undefined {
  return mayDescend(thrown, walk) ? nodeOf(thrown, walk) : undefined
}

function mayDescend(thrown: unknown, walk: Walk): boolean {
  return walk.left > 0 && walk.ancestors.length <= MAX_ERROR_CAUSES && !walk.ancestors.includes(thrown)
}

/** A part through the codec, errors inside it included; `undefined` if it cannot be kept. */
function encodePart(part: unknown, walk: Walk): string | undefined {
  try {
    const text = serialize(part, 'A part of an error', (error) =>
      mayDescend(error, walk) ? JSON.stringify(recordOf(error, walk)) : undefined,
    )
    return utf8Length(text) <= MAX_ERROR_FIELD_BYTES ? text : undefined
  } catch {
    return undefined
  }
}

function recordOf(thrown: unknown, walk: Walk): ErrorRecord {
  walk.left -= 1
  walk.ancestors.push(thrown)
  const dropped = new Set<string>()
  const base = baseOf(thrown)
  const record: Writable<ErrorRecord> = { name: nameOf(thrown), message: messageOf(thrown) }
  if (base !== undefined) record.base = base
  addMarks(record, thrown)
  const stack = stackOf(thrown, record)
  if (stack !== undefined) record.stack = stack
  const data = fieldsOf(thrown, base, walk, dropped)
  if (data.length > 0) record.data = data
  addCause(record, thrown, walk, dropped)
  if (base === 'AggregateError') record.errors = membersOf(thrown, walk, dropped)
  if (dropped.size > 0) record.dropped = shortList(dropped)
  walk.ancestors.pop()
  return record
}

/** What decides about class and retries: kept apart from the fields, which may be dropped. */
function addMarks(record: Writable<ErrorRecord>, thrown: unknown): void {
  if (guarded(() => isPerdureError(thrown))) record.perdure = true
  if (read(thrown, 'permanent') === true) record.permanent = true
  const code = read(thrown, 'code')
  if (typeof code === 'number') record.code = code
  if (typeof code === 'string') record.code = code.slice(0, MAX_NAME_BYTES)
}

function baseOf(thrown: unknown): string | undefined {
  if (!isErrorObject(thrown)) return undefined
  for (const [name, builtin] of builtinErrors) {
    if (guarded(() => thrown instanceof builtin)) return name
  }
  // An error of another realm is an instance of that realm's class.
  const name = read(thrown, 'name')
  return typeof name === 'string' && builtinErrors.has(name) ? name : undefined
}

function nameOf(thrown: unknown): string {
  const own = read(thrown, 'name')
  const className = read(read(thrown, 'constructor'), 'name')
  // A class that sets no name inherits that of a built-in one, which says less than the class's own.
  const inherited = guarded(() => !Object.hasOwn(thrown as object, 'name')) ?? true
  const generic = own === 'Error' || builtinErrors.has(String(guarded(() => String(own))))
  const names = inherited && generic ? [className, own] : [own, className]
  const name = names.find((each) => typeof each === 'string' && each !== '' && each !== 'Object')
  return typeof name === 'string' && typeof thrown === 'object' ? name.slice(0, MAX_NAME_BYTES) : 'Error'
}

function messageOf(thrown: unknown): string {
  const message = read(thrown, 'message')
  if (typeof message === 'string') return cut(message, MAX_ERROR_MESSAGE)
  if (message === undefined && isErrorObject(thrown)) return ''
  const subject = message === undefined ? thrown : message
  return cut(describe(subject), MAX_ERROR_MESSAGE)
}

function stackOf(thrown: unknown, { name, message }: ErrorRecord): string | undefined {
  const stack = read(thrown, 'stack')
  if (typeof stack !== 'string') return undefined
  if (stack.length <= MAX_ERROR_STACK) return stack
  // A long message stands before the frames, which are what the stack is for.
  const frames = stack.indexOf('\n    at ')
  const isLate = frames > MAX_ERROR_STACK / 4
  return cut(isLate ? `${name}: ${cut(message, 500)}${stack.slice(frames)}` : stack, MAX_ERROR_STACK)
}

function fieldsOf(
  thrown: unknown,
  base: string | undefined,
  walk: Walk,
  dropped: Set<string>,
): [string, string][] {
  const isKept = new Set(['message', 'stack', 'cause', base === 'AggregateError' ? 'errors' : 'message'])
  const data: [string, string][] = []
  for (const key of keysOf(thrown)) {
    if (isKept.has(key)) continue
    const value = data.length < MAX_ERROR_FIELDS ? fieldOf(thrown, key, walk) : undefined
    if (value === undefined) dropped.add(key)
    else data.push([key, value])
  }
  return data
}

/** The own keys of a record; the elements of text, lists and bytes are no fields, and could be millions. */
function keysOf(thrown: unknown): string[] {
  if (typeof thrown !== 'object' || thrown === null) return []
  return guarded(() => (Array.isArray(thrown) || ArrayBuffer.isView(thrown) ? [] : Object.keys(thrown))) ?? []
}

function fieldOf(thrown: unknown, key: string, walk: Walk): string | undefined {
  if (key.length > MAX_NAME_BYTES) return undefined
  const field = guarded(() => ({ value: Reflect.get(thrown as object, key) as unknown }))
  return field && encodePart(field.value, walk)
}

function addCause(record: Writable<ErrorRecord>, thrown: unknown, walk: Walk, dropped: Set<string>): void {
  const cause = read(thrown, 'cause')
  const isOwn = guarded(() => Object.hasOwn(thrown as object, 'cause')) ?? false
  // Some libraries have a method of that name.
  if (!isOwn && (cause === undefined || typeof cause === 'function')) return
  const node = childOf(cause, walk)
  if (node) record.cause = node
  else dropped.add('cause')
}

function membersOf(thrown: unknown, walk: Walk, dropped: Set<string>): ErrorNode[] {
  const all: readonly unknown[] =
    guarded(() => Array.from(Reflect.get(thrown as object, 'errors') as unknown[])) ?? []
  const kept: ErrorNode[] = []
  for (const member of all.slice(0, MAX_ERROR_MEMBERS)) {
    const node = childOf(member, walk)
    if (node) kept.push(node)
  }
  if (kept.length < all.length) dropped.add('errors')
  return kept
}

/** How many dropped parts are named, and how much of each name. */
const MAX_DROPPED = 20

function shortList(names: Iterable<string>): string[] {
  return Array.from(names, (name) => cut(name, 100)).slice(0, MAX_DROPPED)
}

/** The text of a node, with less and less of it until it fits. A value, being bounded like a field, always does. */
function textOf(node: ErrorNode): string {
  if ('value' in node) return JSON.stringify(node)
  let text = ''
  for (const reduce of [whole, withoutFields, withoutStacks, alone]) {
    text = JSON.stringify(reduce(node))
    if (text.length <= MAX_ERROR_BYTES && utf8Length(text) <= MAX_ERROR_BYTES) break
  }
  return text
}

function whole(node: ErrorNode): ErrorNode {
  return node
}

function withoutFields(node: ErrorNode): ErrorNode {
  if ('value' in node) return node
  const { data = [], ...rest } = node
  const dropped = shortList([...(node.dropped ?? []), ...data.map(([key]) => key)])
  return withBranches({ ...rest, dropped }, withoutFields)
}

function withoutStacks(node: ErrorNode): ErrorNode {
  if ('value' in node) return node
  const { data, stack, ...rest } = node
  return withBranches(rest, withoutStacks)
}

/** The error itself, small enough to fit even if each character is escaped. */
function alone(record: ErrorRecord): ErrorRecord {
  const { data, stack, cause, errors, ...rest } = record
  return {
    ...rest,
    message: cut(record.message, MAX_ERROR_MESSAGE / 4),
    dropped: ['own fields', 'cause', 'errors'],
  }
}

function withBranches(record: ErrorRecord, change: (node: ErrorNode) => ErrorNode): ErrorRecord {
  return {
    ...record,
    ...(record.cause && { cause: change(record.cause) }),
    ...(record.errors && { errors: record.errors.map(change) }),
  }
}

/** Cuts text, not in the middle of a surrogate pair. */
function cut(text: string, length: number): string {
  if (text.length <= length) return text
  return `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** A property of anything; `undefined` when there is none or reading it throws. */
function read(thing: unknown, key: string): unknown {
  if ((typeof thing !== 'object' && typeof thing !== 'function') || thing === null) return undefined
  return guarded(() => Reflect.get(thing, key) as unknown)
}

function guarded<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
