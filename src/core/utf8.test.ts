import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isWellFormed, utf8Length } from './utf8.ts'

describe('utf8Length', () => {
  it('agrees with the encoder, for any text and lone surrogates', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((u) => String.fromCharCode(u)) }),
        (text) => {
          expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length)
        },
      ),
    )
    for (const text of [
      '',
      'a',
      'é',
      '€',
      '😀',
      '\ud800',
      '\udc00x',
      '\ud800\ud800\udc00',
      '\ud83d',
      'a\ud800\ue000',
    ]) {
      expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length)
    }
  })
})

describe('isWellFormed', () => {
  it('refuses halves of surrogate pairs only', () => {
    expect(isWellFormed('a😀\0')).toBe(true)
    expect(isWellFormed('a\ud83d')).toBe(false)
    expect(isWellFormed('\udc00\ud83d')).toBe(false)
  })
})
