/** How many columns text takes on a terminal. */

const ascii = /^[\x20-\x7e]*$/
const invisible = /^[\p{Mn}\p{Me}\p{Cf}]+$/u
/** Emoji that are shown as pictures, and flags. */
const pictures = /\p{Emoji_Presentation}|\ufe0f|\p{Regional_Indicator}/u
/** The scripts whose characters take two columns: Hangul, Kana, CJK, Yi and full-width forms. */
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]/u

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** The columns that `text` takes. */
export function displayWidth(text: string): number {
  if (ascii.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment)
  return width
}

/** Cuts text off so that it takes at most `width` columns; what was cut off is shown as `…`. */
export function truncate(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  let left = width - 1
  let kept = ''
  for (const { segment } of graphemes.segment(text)) {
    left -= graphemeWidth(segment)
    if (left < 0) break
    kept += segment
  }
  return width > 0 ? `${kept}…` : ''
}

/** Fills text up with spaces to `width` columns. */
export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const filling = ' '.repeat(Math.max(0, width - displayWidth(text)))
  return align === 'left' ? text + filling : filling + text
}

function graphemeWidth(grapheme: string): number {
  if (invisible.test(grapheme)) return 0
  return pictures.test(grapheme) || wide.test(grapheme) ? 2 : 1
}
