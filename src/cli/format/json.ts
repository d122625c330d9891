import { escapeJson } from './escape.ts'

/** What JSON can hold. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** How values become JSON. */
export interface JsonOptions {
  /** Whether errors keep their stack. Default: `false`. */
  readonly stacks?: boolean
}

/**
 * The nearest JSON of a value of the journal, which may hold more than JSON can: dates become ISO texts, big
 * integers texts, maps lists of pairs, sets lists, bytes base64, errors objects with name, message, code, cause;
 * what has no counterpart becomes `null`.
 */
export function toJson(value: unknown, options: JsonOptions = {}): Json {
  return convert(value, { options, ancestors: [] })
}

/** A value as JSON on one line, safe to print. */
export function jsonText(value: unknown, options?: JsonOptions): string {
  return escapeJson(JSON.stringify(toJson(value, options)))
}

/** A value as indented JSON, safe to print. */
export function jsonDocument(value: unknown, options?: JsonOptions): string {
  return escapeJson(JSON.stringify(toJson(value, options), null, 2))
}

interface Walk {
  readonly options: JsonOptions
  /** The objects that hold this one: what holds itself would never end. */
  readonly ancestors: readonly object[]
}

function convert(value: unknown, walk: Walk): Json {
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return null
  if (walk.ancestors.includes(value)) return '[circular]'
  return convertObject(value, { ...walk, ancestors: [...walk.ancestors, value] })
}

function convertObject(value: object, walk: Walk): Json {
  const each = (part: unknown): Json => convert(part, walk)
  if (Array.isArray(value)) return Array.from(value, each)
  if (value instanceof Error) return convertError(value, walk)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  if (value instanceof Map) return [...value].map(([key, part]) => [each(key), each(part)])
  if (value instanceof Set) return [...value].map(each)
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString('base64')
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (ArrayBuffer.isView(value)) return Object.values(value).map(each)
  return isPlain(value) ? convertFields(value, walk) : String(value)
}

function convertError(error: Error, walk: Walk): Json {
  const { name, message, stack, cause } = error
  return {
    name,
    message,
    ...('code' in error ? { code: convert(error.code, walk) } : {}),
    ...convertFields(error, walk),
    ...(walk.options.stacks === true && stack !== undefined ? { stack } : {}),
    ...(error instanceof AggregateError ? { errors: convert(error.errors, walk) } : {}),
    ...(cause === undefined ? {} : { cause: convert(cause, walk) }),
  }
}

function convertFields(value: object, walk: Walk): Readonly<Record<string, Json>> {
  const present = Object.entries(value).filter(([, part]) => part !== undefined)
  // Defines each key, also one called `__proto__`.
  return Object.fromEntries(present.map(([key, part]) => [key, convert(part, walk)]))
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
