/**
 * Names, keys, values and messages are data that anybody may have chosen: printed as they are, they could move the
 * cursor, change colours, set the title, or reorder what stands around them.
 */

/** Control characters, what reorders or breaks lines, and halves of surrogate pairs. */
const unsafe = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu

const short: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

/**
 * Makes text safe to print within a line.
 *
 * @example escapeText('a\x1b[2Jb') // 'a\\x1b[2Jb'
 */
export function escapeText(text: string): string {
  return text.replace(unsafe, (character) => short.get(character) ?? escaped(character))
}

/** The same, line by line, for text whose lines are wanted: messages and stacks. */
export function escapeLines(text: string): string[] {
  return text.split(/\r\n|\n/).map((line) => escapeText(line.replaceAll('\t', '  ')))
}

/** Makes JSON safe to print. It stays the same JSON: such characters occur in its texts only. */
export function escapeJson(json: string): string {
  return json.replace(unsafe, (character) => (character === '\n' ? character : unicode(character)))
}

function escaped(character: string): string {
  const code = character.charCodeAt(0)
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : unicode(character)
}

function unicode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
