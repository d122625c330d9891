declare global {
  interface String {
    /** ES2024; every supported Node has it. */
    isWellFormed(): boolean
  }
}

/**
 * SQLite text is UTF-8, which has no lone surrogates, and some drivers cut it at the first NUL. Any string is
 * legal in a record, so these few characters are written as an escape, which is itself escaped. The choice
 * fell on U+007F ("delete"): nobody types it, and almost no string pays more than the look.
 */
const mark = '\u007f'

/** The text to store for a string. */
export function toStoredText(value: string): string {
  if (value.isWellFormed() && !value.includes('\0') && !value.includes(mark)) return value
  // By code points: a surrogate that stands alone here is a lone one.
  return Array.from(value, escaped).join('')
}

/** The string that a stored text stands for. */
export function fromStoredText(text: string): string {
  if (!text.includes(mark)) return text
  return text.replace(escapes, (_match, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

const escapes = new RegExp(`${mark}([0-9a-f]{4})`, 'g')

function escaped(char: string): string {
  if (char !== '\0' && char !== mark && char.isWellFormed()) return char
  return mark + char.charCodeAt(0).toString(16).padStart(4, '0')
}
