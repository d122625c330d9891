import { describe, expect, it } from 'vitest'
import { bar } from '../../src/cli/format/bar.ts'
import { createColours, wantsColours } from '../../src/cli/format/colours.ts'
import { errorLine, errorLines } from '../../src/cli/format/error.ts'
import { escapeJson, escapeLines, escapeText } from '../../src/cli/format/escape.ts'
import { jsonText, toJson } from '../../src/cli/format/json.ts'
import { table } from '../../src/cli/format/table.ts'
import { formatMoment, formatRelative, formatTime, isoTime } from '../../src/cli/format/time.ts'
import { displayWidth, pad, truncate } from '../../src/cli/format/width.ts'

describe('escapeText', () => {
  it.each([
    ['a\x1b[2Jb', 'a\\x1b[2Jb'],
    ['a\x9b2Jb', 'a\\x9b2Jb'],
    ['a\r\n\tb\x07\x7f\0', 'a\\r\\n\\tb\\x07\\x7f\\x00'],
    ['a\u202eb\u2066c\u2028d', 'a\\u202eb\\u2066c\\u2028d'],
    ['\ud800', '\\ud800'],
    ['grüß 日本 👩‍👩‍👧 €', 'grüß 日本 👩‍👩‍👧 €'],
  ])('escapes what could drive the terminal: %j', (text, safe) => {
    expect(escapeText(text)).toBe(safe)
  })

  it('keeps line breaks where lines are wanted', () => {
    expect(escapeLines('a\r\n\tb\nc\x1b')).toEqual(['a', '  b', 'c\\x1b'])
  })

  it('leaves JSON the same JSON', () => {
    const value = { 'a\u202e': '\x9b\x7f\n' }
    const json = escapeJson(JSON.stringify(value, null, 2))
    expect(json).not.toMatch(/[\x7f\x9b\u202e]/)
    expect(JSON.parse(json)).toEqual(value)
  })
})

describe('the width of text', () => {
  it.each([
    ['abc', 3],
    ['日本', 4],
    ['e\u0301', 1],
    ['👩‍👩‍👧', 2],
    ['🇩🇪', 2],
    ['ﬁ—…', 3],
    ['', 0],
  ])('%j takes %i columns', (text, width) => {
    expect(displayWidth(text)).toBe(width)
  })

  it('is cut off between whole characters', () => {
    expect(truncate('abcdef', 4)).toBe('abc…')
    expect(truncate('日本語', 4)).toBe('日…')
    expect(truncate('日本語', 6)).toBe('日本語')
    expect(truncate('abc', 0)).toBe('')
  })

  it('is filled up', () => {
    expect(pad('日', 4)).toBe('日  ')
    expect(pad('1', 3, 'right')).toBe('  1')
  })
})

describe('table', () => {
  const columns = [
    { title: 'NAME', shrinks: true },
    { title: 'N', align: 'right' },
    { title: 'LAST' },
  ] as const
  const rows = [
    [{ text: 'short' }, { text: '1' }, { text: 'x' }],
    [{ text: '日本語日本語日本語' }, { text: '1000' }, { text: '' }],
  ]

  it('aligns columns by what the terminal shows', () => {
    expect(table(columns, rows, { width: null })).toEqual([
      'NAME                   N  LAST',
      'short                  1  x',
      '日本語日本語日本語  1000',
    ])
  })

  it('cuts off what may shrink, to the width of the terminal', () => {
    const lines = table(columns, rows, { width: 24 })
    expect(lines).toEqual(['NAME             N  LAST', 'short            1  x', '日本語日本…   1000'])
    expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(24)
  })

  it('does not shrink a column to nothing, however narrow the terminal', () => {
    expect(table(columns, rows, { width: 1 })[2]).toBe('日本語…   1000')
  })

  it('paints without moving anything', () => {
    const paint = (text: string): string => `<${text}>`
    expect(
      table([{ title: 'A' }, { title: 'B' }], [[{ text: 'x', paint }, { text: 'y' }]], { width: null }),
    ).toEqual(['A  B', '<x>  y'])
  })
})

describe('time', () => {
  const now = Date.UTC(2026, 6, 1, 12)

  it('is told relative to now', () => {
    expect(formatRelative(now, now)).toBe('now')
    expect(formatRelative(now - 61_001, now)).toBe('1m 1s ago')
    expect(formatRelative(now + 2 * 86_400_000 + 500, now)).toBe('in 2d')
  })

  it('is named as none when it is none', () => {
    for (const ms of [Number.NaN, Number.POSITIVE_INFINITY, 1e17]) {
      expect([formatTime(ms), formatRelative(ms, now), formatMoment(ms, now)]).toEqual(
        Array(3).fill('(no valid time)'),
      )
      expect(isoTime(ms)).toBe(null)
    }
  })

  it('is local for people, and UTC for machines', () => {
    expect(formatTime(new Date(2026, 0, 2, 3, 4, 5).getTime())).toBe('2026-01-02 03:04:05')
    expect(isoTime(now)).toBe('2026-07-01T12:00:00.000Z')
    expect(isoTime(null)).toBe(null)
  })
})

describe('bar', () => {
  const whole = { from: 0, to: 100 }
  it.each([
    [{ from: 0, to: 100 }, '████'],
    [{ from: 50, to: 100 }, '  ██'],
    [{ from: 25, to: 26 }, ' █'],
    [{ from: 100, to: 100 }, '   █'],
    [{ from: -50, to: 900 }, '████'],
    [{ from: Number.NaN, to: Number.NaN }, '█'],
  ])('of %j', (span, drawn) => {
    expect(bar(span, whole, 4, '█')).toBe(drawn)
  })

  it('of a run that took no time', () => {
    expect(bar({ from: 5, to: 5 }, { from: 5, to: 5 }, 4, '█')).toBe('█')
  })
})

describe('errors', () => {
  const error = new Error('outer\nsecond\x1b line', {
    cause: new AggregateError([new TypeError('one'), 'two'], 'several'),
  })

  it('are shown with their causes and members', () => {
    expect(errorLine(error)).toBe('Error: outer')
    expect(errorLines(error, { stacks: false })).toEqual([
      'Error: outer',
      '  second\\x1b line',
      '  caused by AggregateError: several',
      '    - TypeError: one',
      '    - thrown: "two"',
    ])
  })

  it('that cause themselves come to an end', () => {
    const loop = new Error('again')
    loop.cause = loop
    expect(errorLines(loop, { stacks: false })).toHaveLength(9)
    expect(toJson(loop)).toEqual({ name: 'Error', message: 'again', cause: '[circular]' })
  })

  it('show their code, and their stack if it is wanted', () => {
    const coded = Object.assign(new Error('no'), { code: 'E_NO' })
    expect(errorLine(coded)).toBe('Error [E_NO]: no')
    expect(errorLines(coded, { stacks: true })[1]).toMatch(/^ +at .*format\.test/)
    expect(toJson(coded)).toEqual({ name: 'Error', message: 'no', code: 'E_NO' })
  })
})

describe('toJson', () => {
  it.each([
    [undefined, null],
    [Number.NaN, null],
    [10n, '10'],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [new Date(Number.NaN), null],
    [new Map([['a', new Set([1])]]), [['a', [1]]]],
    [new Uint8Array([1, 2]), 'AQI='],
    [new Float64Array([0.5]), [0.5]],
    [/a/g, '/a/g'],
    [new URL('http://a/'), 'http://a/'],
    [{ a: undefined, b: 1 }, { b: 1 }],
  ])('finds the nearest JSON of %o', (value, json) => {
    expect(toJson(value)).toEqual(json)
  })

  it('keeps keys that are special elsewhere', () => {
    expect(jsonText(JSON.parse('{"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1}}')
  })

  it('ends at circles, and keeps what is only shared', () => {
    const shared = { a: 1 }
    const circle: unknown[] = [shared, shared]
    circle.push(circle)
    expect(toJson(circle)).toEqual([shared, shared, '[circular]'])
  })
})

describe('colours', () => {
  it('are for terminals only, and for those who want them', () => {
    expect(wantsColours(true, {})).toBe(true)
    expect(wantsColours(true, { NO_COLOR: '' })).toBe(true)
    expect(wantsColours(true, { NO_COLOR: '1' })).toBe(false)
    expect(wantsColours(true, { TERM: 'dumb' })).toBe(false)
    expect(wantsColours(false, {})).toBe(false)
    expect(createColours(false).red('a')).toBe('a')
    expect(createColours(true).red('a')).toBe('\x1b[31ma\x1b[39m')
  })
})
