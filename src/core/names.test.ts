import { describe, expect, it } from 'vitest'
import { InvalidNameError } from './errors.ts'
import { checkId, checkKey, checkName, checkTags } from './names.ts'

describe.each([
  ['checkName', checkName, 256],
  ['checkKey', checkKey, 1024],
  ['checkId', checkId, 256],
])('%s', (_, check, limit) => {
  it.each(['a', ' a ', 'a.b', '$set', '__proto__', 'a:b/c|d,e%f#g?h\ni', '😀', '1', '#', 'null'])(
    'takes %j as it is',
    (text) => {
      expect(check(text, 'The name')).toBe(text)
    },
  )

  it.each([
    '',
    ' ',
    '\t',
    '\n\u00a0',
    null,
    undefined,
    0,
    5,
    false,
    {},
    ['a'],
    Symbol('a'),
    'a\0b',
    'a\ud800',
    '\udc00',
  ])('refuses %s', (value) => {
    expect(() => check(value, 'The name of the step')).toThrow(InvalidNameError)
  })

  it(`counts bytes, up to ${limit}`, () => {
    expect(check('a'.repeat(limit), 'x')).toHaveLength(limit)
    expect(check('é'.repeat(limit / 2), 'x')).toHaveLength(limit / 2)
    expect(() => check('a'.repeat(limit + 1), 'x')).toThrow(`${limit + 1} bytes`)
    expect(() => check('€'.repeat(limit / 2), 'x')).toThrow(InvalidNameError)
    expect(() => check('a'.repeat(10_240), 'x')).toThrow(InvalidNameError)
  })
})

describe('a refused name', () => {
  it('says what is wrong and what to do', () => {
    expect(() => checkName(7, 'The name of the step')).toThrow(
      'The name of the step must be text, not number. Convert it to a string first.',
    )
    expect(() => checkName(null, 'x')).toThrow('not null')
    expect(() => checkName('', 'x')).toThrow('x is empty')
    expect(() => checkName(' ', 'x')).toThrow('x is blank')
    expect(() => checkName('a\0', 'x')).toThrow('NUL')
    expect(() => checkName('\ud800', 'x')).toThrow('surrogate')
  })
})

describe('checkTags', () => {
  it('takes up to 32 names, each once', () => {
    expect(checkTags(['a', 'b', 'a'])).toEqual(['a', 'b'])
    expect(checkTags([])).toEqual([])
    const many = Array.from({ length: 32 }, (_, i) => `t${i}`)
    expect(checkTags(many)).toEqual(many)
    expect(() => checkTags([...many, 'x'])).toThrow('32 tags, not 33')
  })

  it.each([undefined, null, 'a', {}, new Set(['a']), [''], [1], new Array(3), ['a', null]])(
    'refuses %s',
    (value) => {
      expect(() => checkTags(value)).toThrow(InvalidNameError)
    },
  )

  it('names the tag that is wrong', () => {
    expect(() => checkTags(['a', ''])).toThrow('tags[1] is empty')
  })
})
