import { formatDuration } from '../../index.ts'

/** The largest time that a `Date` can hold, epoch ms. */
const MAX_TIME = 8.64e15

/**
 * A time for people: date and time of day in the time zone of the process, to the second.
 *
 * @param ms epoch ms; a value that is no time is named as such, so that one bad record does not hide the others
 */
export function formatTime(ms: number): string {
  if (!isTime(ms)) return '(no valid time)'
  const date = new Date(ms)
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join('-')
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')}`
}

/** How far a time is from `now`: `3m 5s ago`, `in 2d`, `now`. */
export function formatRelative(ms: number, now: number): string {
  if (!isTime(ms)) return '(no valid time)'
  const distance = ms - now
  if (Math.abs(distance) < 1000) return 'now'
  // Milliseconds would be out of date before they are read.
  const text = formatDuration(Math.floor(Math.abs(distance) / 1000) * 1000)
  return distance > 0 ? `in ${text}` : `${text} ago`
}

/** Both: `2026-07-01 12:00:00 (in 2d)`. */
export function formatMoment(ms: number, now: number): string {
  return isTime(ms) ? `${formatTime(ms)} (${formatRelative(ms, now)})` : '(no valid time)'
}

/** The time as machines read it, ISO 8601 in UTC; `null` if there is none. */
export function isoTime(ms: number | null): string | null {
  return ms !== null && isTime(ms) ? new Date(ms).toISOString() : null
}

function isTime(ms: number): boolean {
  return Number.isFinite(ms) && Math.abs(ms) <= MAX_TIME
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}
