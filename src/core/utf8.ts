/** Facts about text that every store depends on. */

/** A high surrogate without a low one, or the reverse: with the `u` flag a proper pair does not match. */
const loneSurrogate = /\p{Surrogate}/u

/** Whether the text can be written as UTF-8 without loss, i.e. holds no lone surrogates. */
export function isWellFormed(text: string): boolean {
  return !loneSurrogate.test(text)
}

/**
 * The number of bytes of `text` in UTF-8. A lone surrogate counts as 3, as it would when replaced by U+FFFD.
 *
 * @example utf8Length('é') // 2
 */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    bytes += unit < 0x800 ? 1 : 2
    // A pair is 4 bytes for 2 units: the high half has added 2, the low half must add nothing.
    if (unit >= 0xd800 && unit < 0xdc00 && isLow(text.charCodeAt(i + 1))) i++
  }
  return bytes
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
