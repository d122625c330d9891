import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addTime, formatDuration, parseDuration } from './duration.ts'
import { InvalidDurationError } from './errors.ts'

describe('parseDuration', () => {
  it.each([
    [0, 0],
    [-0, 0],
    [1500, 1500],
    [0.2, 1],
    [Number.MAX_VALUE, Number.MAX_SAFE_INTEGER],
    ['500ms', 500],
    ['90s', 90_000],
    ['1.5h', 5_400_000],
    ['2 days', 172_800_000],
    ['1h 30m', 5_400_000],
    ['1h30m', 5_400_000],
    [' 1 H  30 Min ', 5_400_000],
    ['1 week', 604_800_000],
    ['0s', 0],
    ['1.1s', 1100],
    ['0.0001ms', 1],
    ['9999999999999999999 weeks', Number.MAX_SAFE_INTEGER],
  ])('reads %j as %d ms', (value, expected) => {
    expect(Object.is(parseDuration(value, 'the delay'), expected)).toBe(true)
  })

  it.each([
    [1000, 's sec second seconds SECONDS'],
    [60_000, 'm min minute minutes'],
    [3_600_000, 'h hr hour hours'],
    [86_400_000, 'd day days'],
    [604_800_000, 'w week weeks'],
  ])('knows the units of %d ms: %s', (length, units) => {
    for (const unit of units.split(' ')) expect(parseDuration(`3${unit}`, 'x')).toBe(3 * length)
  })

  it.each([
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -1,
    '',
    '  ',
    '1 fortnight',
    '5',
    'abc',
    '1h30',
    '-1s',
    '1e3s',
    '1..5s',
    '1,5s',
    '1h and 30m',
    's',
    `${'9'.repeat(99)}h`.padStart(101),
    null,
    undefined,
    {},
    [5],
    5n,
    true,
    new Date(0),
  ])('refuses %s', (value) => {
    expect(() => parseDuration(value, 'The timeout of "pay"')).toThrow(InvalidDurationError)
  })

  it('says what was given, where, and what is accepted', () => {
    expect(() => parseDuration('1 fortnight', 'The timeout of "pay"')).toThrow(
      /^The timeout of "pay" is not a duration: "1 fortnight"\. .*'1h 30m'/,
    )
    expect(() => parseDuration({}, 'x')).toThrow('a value of type object')
    expect(() => parseDuration(Number.NaN, 'x')).toThrow('NaN')
    expect(() => parseDuration(null, 'x')).toThrow('null')
  })

  it('never rounds down', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), (ms) => {
        const parsed = parseDuration(ms, 'x')
        expect(Number.isInteger(parsed)).toBe(true)
        expect(parsed).toBeGreaterThanOrEqual(ms)
        expect(parsed - ms).toBeLessThanOrEqual(1)
      }),
    )
  })
})

describe('addTime', () => {
  it('adds, and stops at the last valid date', () => {
    expect(addTime(1000, 500)).toBe(1500)
    const last = addTime(1_700_000_000_000, Number.MAX_SAFE_INTEGER)
    expect(last).toBe(8.64e15)
    expect(Number.isNaN(new Date(last).getTime())).toBe(false)
  })
})

describe('formatDuration', () => {
  it.each([
    [0, '0ms'],
    [-5, '0ms'],
    [Number.NaN, '0ms'],
    [500.7, '500ms'],
    [90_000, '1m 30s'],
    [5_400_000, '1h 30m'],
    [3_600_000, '1h'],
    [86_400_000 + 60_000, '1d'],
    [1001, '1s 1ms'],
    [9 * 86_400_000 + 7_200_000, '9d 2h'],
  ])('shows %d ms as %s', (ms, expected) => {
    expect(formatDuration(ms)).toBe(expected)
  })

  it('can be read back, to within its smaller unit', () => {
    fc.assert(
      fc.property(fc.nat({ max: 1e11 }), (ms) => {
        const back = parseDuration(formatDuration(ms), 'x')
        expect(back).toBeLessThanOrEqual(ms)
        expect(ms - back).toBeLessThanOrEqual(ms / 24)
      }),
    )
  })
})
