/** Lengths of time: milliseconds as a number, or text with a unit. A number never means seconds. */

import { InvalidDurationError } from './errors.ts'
import { MAX_TIME } from './limits.ts'

/**
 * A length of time: milliseconds as a number, or text such as `'500ms'`, `'90s'`, `'1.5h'`, `'1h 30m'`,
 * `'2 days'`, `'1 week'`.
 */
export type Duration = number | string

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const WEEK = 7 * DAY

/** Every accepted unit, in lower case, with its length in ms. */
const units: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ...['s', 'sec', 'second', 'seconds'].map((unit) => [unit, SECOND] as const),
  ...['m', 'min', 'minute', 'minutes'].map((unit) => [unit, MINUTE] as const),
  ...['h', 'hr', 'hour', 'hours'].map((unit) => [unit, HOUR] as const),
  ...['d', 'day', 'days'].map((unit) => [unit, DAY] as const),
  ...['w', 'week', 'weeks'].map((unit) => [unit, WEEK] as const),
])

/** No sensible duration is longer; the bound keeps messages short and matching cheap. */
const MAX_TEXT = 100

/** Sticky, so that the parts must follow each other with nothing but space between them. */
const part = /\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*/y

/**
 * Reads a duration.
 *
 * @param what names the value in the message of the error, e.g. `'the timeout of step "pay"'`
 * @returns whole milliseconds, rounded up so that nothing wakes early, at most `Number.MAX_SAFE_INTEGER`
 * @throws {InvalidDurationError} for everything that is not a {@link Duration}: NaN, Infinity, negative
 *   numbers, `''`, numbers without a unit in text, unknown units, other types
 * @example parseDuration('1h 30m', 'the timeout') // 5_400_000
 */
export function parseDuration(value: unknown, what: string): number {
  const ms = typeof value === 'string' ? textToMs(value) : value
  if (typeof ms !== 'number' || !Number.isFinite(ms) || ms < 0) {
    throw new InvalidDurationError(
      `${what} is not a duration: ${show(value)}. Give milliseconds as a number (0 or more), or text ` +
        "with units, such as '500ms', '90s', '1.5h', '1h 30m', '2 days', '1 week'.",
    )
  }
  // Adding 0 turns -0 into 0.
  return Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER) + 0
}

/** Milliseconds, possibly with a fraction; NaN when the text is no duration. */
function textToMs(text: string): number {
  if (text.length === 0 || text.length > MAX_TEXT) return Number.NaN
  const lower = text.toLowerCase()
  let total = 0
  part.lastIndex = 0
  while (part.lastIndex < lower.length) {
    const [, amount, unit = ''] = part.exec(lower) ?? []
    const length = units.get(unit)
    if (length === undefined) return Number.NaN
    total += Number(amount) * length
  }
  return Number.isInteger(total) ? total : withoutNoise(total)
}

/** 1.1 × 1000 is 1100.0000000000002, which would round up to 1101. */
function withoutNoise(ms: number): number {
  return Number(ms.toPrecision(15))
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, MAX_TEXT))
  if (value === null || typeof value === 'number' || typeof value === 'undefined') return String(value)
  return `a value of type ${typeof value}`
}

/**
 * A time that lies `ms` after `now`, clamped to the last valid `Date`, so that a far-away time stays a time.
 *
 * @param now epoch ms
 * @param ms a duration, 0 or more
 */
export function addTime(now: number, ms: number): number {
  return Math.min(now + ms, MAX_TIME)
}

const shown = [
  ['d', DAY],
  ['h', HOUR],
  ['m', MINUTE],
  ['s', SECOND],
  ['ms', 1],
] as const

/**
 * A short form for people: the largest unit that fits and the next one, rest cut off.
 *
 * @example formatDuration(5_400_000) // '1h 30m'
 * @example formatDuration(0) // '0ms'
 */
export function formatDuration(ms: number): string {
  const whole = ms > 0 ? Math.floor(ms) : 0
  const first = shown.findIndex(([, length]) => whole >= length)
  if (first === -1) return '0ms'
  let rest = whole
  const parts: string[] = []
  for (const [unit, length] of shown.slice(first, first + 2)) {
    const count = Math.floor(rest / length)
    rest %= length
    if (count > 0) parts.push(`${count}${unit}`)
  }
  return parts.join(' ')
}
