/**
 * Names, keys and ids are data: any text is legal, with dots, `$`, `__proto__`, spaces or separators. What no
 * store could keep faithfully is refused here, so that every store accepts what gets past.
 */

import { InvalidNameError } from './errors.ts'
import { MAX_ID_BYTES, MAX_KEY_BYTES, MAX_NAME_BYTES, MAX_TAGS } from './limits.ts'
import { isWellFormed, utf8Length } from './utf8.ts'

/**
 * Checks the name of a workflow, step, event, queue, function, tag or checkpoint.
 *
 * @param what names the value in the message of the error, e.g. `'The name of the step'`
 * @returns the name, unchanged
 * @throws {InvalidNameError} unless it is non-blank, well-formed text without NUL, of at most 256 bytes
 */
export function checkName(value: unknown, what: string): string {
  return checkText(value, what, MAX_NAME_BYTES)
}

/**
 * Checks a dedupe key: as {@link checkName}, up to 1024 bytes.
 *
 * @throws {InvalidNameError}
 */
export function checkKey(value: unknown, what: string): string {
  return checkText(value, what, MAX_KEY_BYTES)
}

/**
 * Checks an id that a caller chose: as {@link checkName}, up to 256 bytes.
 *
 * @throws {InvalidNameError}
 */
export function checkId(value: unknown, what: string): string {
  return checkText(value, what, MAX_ID_BYTES)
}

/**
 * Checks the tags of a run.
 *
 * @returns the tags without repetitions, in the given order
 * @throws {InvalidNameError} unless it is an array of at most 32 names
 */
export function checkTags(value: unknown): string[] {
  if (!Array.isArray(value)) {
    throw new InvalidNameError(
      `tags must be an array of names, not ${kindOf(value)}. Give e.g. ['eu', 'trial'].`,
    )
  }
  if (value.length > MAX_TAGS) {
    throw new InvalidNameError(
      `A run may have ${MAX_TAGS} tags, not ${value.length}. Put the rest into its input.`,
    )
  }
  const tags: readonly unknown[] = value
  return [...new Set(Array.from(tags, (tag, index) => checkName(tag, `tags[${index}]`)))]
}

function checkText(value: unknown, what: string, maxBytes: number): string {
  if (typeof value !== 'string') {
    throw new InvalidNameError(`${what} must be text, not ${kindOf(value)}. Convert it to a string first.`)
  }
  if (value.trim() === '') {
    throw new InvalidNameError(
      `${what} is ${value === '' ? 'empty' : 'blank'}. Give it at least one visible character.`,
    )
  }
  if (value.includes('\0')) {
    throw new InvalidNameError(`${what} holds a NUL character, which not every store can keep. Remove it.`)
  }
  if (!isWellFormed(value)) {
    throw new InvalidNameError(
      `${what} holds half of a surrogate pair. Do not cut text in the middle of a character.`,
    )
  }
  // Each UTF-16 unit is at most 3 bytes: short text needs no count.
  if (value.length * 3 > maxBytes) checkLength(value, what, maxBytes)
  return value
}

function checkLength(text: string, what: string, maxBytes: number): void {
  const bytes = utf8Length(text)
  if (bytes <= maxBytes) return
  throw new InvalidNameError(
    `${what} has ${bytes} bytes; at most ${maxBytes} are allowed. Shorten it, or use a hash of it.`,
  )
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : typeof value
}
