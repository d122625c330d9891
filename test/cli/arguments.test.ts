import { describe, expect, it } from 'vitest'
import { joinGroup, markNumbers, unmark } from '../../src/cli/arguments.ts'

describe('markNumbers', () => {
  it.each(['007', '1e3', '0x10', '', ' ', '-5', '12345678901234567890'])(
    'saves %j from being read as a number',
    (text) => {
      const [option = ''] = markNumbers([`--key=${text}`])
      expect(Number(option.slice('--key='.length))).toBeNaN()
      expect(unmark(option.slice('--key='.length))).toBe(text)
    },
  )

  it('leaves options and other text as they are', () => {
    const args = ['--json', '-v', 'list', '--a=b=c', '{"a":1}']
    expect(markNumbers(args)).toEqual(args)
  })

  it('is undone in lists, too', () => {
    expect(unmark(markNumbers(['1', 'a']))).toEqual(['1', 'a'])
    expect(unmark(true)).toBe(true)
  })
})

describe('joinGroup', () => {
  it.each([
    [['runs', 'list'], ['runs list']],
    [
      ['--json', 'runs', 'list'],
      ['--json', 'runs list'],
    ],
    [
      ['--store', 'runs', 'runs', 'show', 'x'],
      ['--store', 'runs', 'runs show', 'x'],
    ],
    [
      ['runs', '--help'],
      ['runs', '--help'],
    ],
    [['runs'], ['runs']],
    [
      ['run', 'runs', 'list'],
      ['run', 'runs', 'list'],
    ],
    [[], []],
  ])('%j', (args, joined) => {
    expect(joinGroup(args, 'runs', ['--store'])).toEqual(joined)
  })
})
