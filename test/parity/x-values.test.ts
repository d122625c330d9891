import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { codeOf, messageOf, testEngine } from './kit.ts'
import { forEachStore } from './stores.ts'

const shared = { one: 1 }
const circle: Record<string, unknown> = { name: 'circle' }
circle['self'] = circle

/** What must come back as it was. */
const kept: Readonly<Record<string, unknown>> = {
  undefined,
  null: null,
  zero: 0,
  'negative zero': -0,
  false: false,
  'empty text': '',
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
  'the largest integer': Number.MAX_SAFE_INTEGER,
  'the smallest number': Number.MIN_VALUE,
  BigInt: 12345678901234567890n,
  'a date': new Date(5),
  'an invalid date': new Date(Number.NaN),
  'a map': new Map<unknown, unknown>([
    ['a', 1],
    [{ k: 1 }, new Date(1)],
  ]),
  'a set': new Set([1, 'two', undefined]),
  'a regular expression': /a+/gi,
  'a URL': new URL('https://example.com/a?b=c'),
  'URL parameters': new URLSearchParams([
    ['a', '1'],
    ['a', '2'],
  ]),
  bytes: new Uint8Array([0, 255]),
  floats: new Float64Array([0.5, Number.NaN]),
  'an array buffer': new Uint8Array([1, 2]).buffer,
  'a sparse array': Object.assign([], { 2: 'x' }),
  'holes of undefined': [undefined, null],
  'an undefined property': { a: undefined, b: null },
  'an empty object': {},
  'no prototype': Object.assign(Object.create(null), { a: 1 }),
  'a key __proto__': JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}}}'),
  'dots and dollars in keys': { 'a.b': 1, $set: 2, '': 3, 'a\0b': 4 },
  'a NUL character': 'a\u0000b',
  'a lone surrogate': '\ud800 and \udc00x',
  'the escape as text': '\\u0000 \\ud800',
  emoji: '👩‍👩‍👧 \ufffe',
  'a large text': 'x'.repeat(100_000),
  'a shared object': [shared, shared],
  'a circle': circle,
  'deep nesting': Array.from({ length: 100 }).reduce<unknown>((inner) => ({ inner }), 'bottom'),
  'an error': new RangeError('as a value'),
}

/** What must be refused, where it is. */
const refused: Readonly<Record<string, unknown>> = {
  'a function': { a: { b: () => 1 } },
  'a symbol': { a: { b: Symbol('s') } },
  'a promise': { a: { b: Promise.resolve(1) } },
  'an instance of a class': {
    a: {
      b: new (class Money {
        amount = 1
      })(),
    },
  },
  'a getter that throws': {
    a: Object.defineProperty({}, 'b', {
      enumerable: true,
      get: () => {
        throw new Error('no')
      },
    }),
  },
  'a weak map': { a: { b: new WeakMap() } },
  'a subclass of Map': { a: { b: new (class Registry extends Map {})() } },
  'a proxy that throws': {
    a: {
      b: new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('trap')
          },
        },
      ),
    },
  },
}

function same(a: unknown, b: unknown): boolean {
  // Not every version of Node takes two invalid dates for equal.
  if (a instanceof Date && b instanceof Date) return Object.is(a.getTime(), b.getTime())
  return a instanceof Error && b instanceof Error ? String(a) === String(b) : isDeepStrictEqual(a, b)
}

function kindOf(value: unknown): string {
  return `${typeof value} ${Object.prototype.toString.call(value)}`
}

forEachStore((database) => {
  it('X18 every value is the same live, replayed, as an input and as a result', async () => {
    const seen = new Map<string, unknown[]>()
    const echo = defineWorkflow({ name: 'echo' }, async ({ input, step }) => {
      const [name, value] = input as [string, unknown]
      const result = await step.do('result', () => value)
      seen.set(name, [...(seen.get(name) ?? []), value, result])
      await step.sleep('so that it is replayed', '1m')
      return result
    })
    const test = await testEngine({ store: database()(), workflows: [echo], hotRuns: 0 })
    for (const [name, value] of Object.entries(kept)) {
      const handle = await test.engine.startWorkflow(echo, [name, value])
      const output = await test.until(handle.result())
      const all = [...(seen.get(name) ?? []), output]
      expect([name, all.length]).toEqual([name, 5])
      for (const other of all) {
        expect([name, kindOf(other), same(other, value)]).toEqual([name, kindOf(value), true])
      }
    }
  })
})

describe.each(Object.entries(kept))('%s', (_, value) => {
  it.each([1000, 0])(
    'B072 is to the function what it will be to a replay, with %i hot runs',
    async (hotRuns) => {
      const seen: unknown[] = []
      const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
        seen.push(await step.do('value', () => value), await step.do('remote', 'give'))
        await step.sleep('pause', '1m')
      })
      const test = await testEngine({ workflows: [workflow], functions: { give: () => value }, hotRuns })
      await test.run(workflow, null)
      expect(seen.length).toBe(hotRuns === 0 ? 4 : 2)
      for (const other of seen) expect([kindOf(other), same(other, value)]).toEqual([kindOf(value), true])
      // The function gets a copy of its own: changing it changes nothing in the journal.
      if (typeof value === 'object' && value !== null) expect(seen[0]).not.toBe(value)
    },
  )
})

describe.each(Object.entries(refused))('%s', (_, value) => {
  it('B068 as a result makes the step fail, with the path in the message', async () => {
    const workflow = defineWorkflow({ name: 'w' }, ({ step }) =>
      step.do('bad', () => value).catch((e: unknown) => e),
    )
    const test = await testEngine({ workflows: [workflow] })
    const { status, output } = await test.run(workflow, null)
    expect([status, codeOf(output)]).toEqual(['completed', 'UNSERIALIZABLE_VALUE'])
    expect(messageOf(output)).toMatch(/step "bad".*\.a\.b/)
  })

  it('B068 as the output of a run makes it fail', async () => {
    const workflow = defineWorkflow({ name: 'w' }, () => value)
    const test = await testEngine({ workflows: [workflow] })
    const { status, error } = await test.run(workflow, null)
    expect([status, codeOf(error)]).toEqual(['failed', 'UNSERIALIZABLE_VALUE'])
  })

  it.each([1000, 0])(
    'B071 as an argument is a rejection that can be caught, with %i hot runs',
    async (hotRuns) => {
      const child = defineWorkflow({ name: 'child' }, () => 1)
      const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
        const caught: unknown[] = []
        const add = (error: unknown): void => void caught.push(codeOf(error))
        await step.do('remote', 'give', value).catch(add)
        await step.sleep('pause', '1m')
        await step.do('child', child, value).catch(add)
        await step.sleep('pause', '1m')
        return [...caught, await step.do('fallback', () => 'fallback')]
      })
      const test = await testEngine({ workflows: [workflow, child], functions: { give: () => 1 }, hotRuns })
      const { output } = await test.run(workflow, null)
      expect(output).toEqual(['UNSERIALIZABLE_VALUE', 'UNSERIALIZABLE_VALUE', 'fallback'])
    },
  )
})

describe('results', () => {
  it('B067 nothing is told from null, from a step, a function, a child and an event', async () => {
    const child = defineWorkflow({ name: 'child' }, ({ input }) => (input === 'null' ? null : undefined))
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => [
      await step.do('step', () => {}),
      await step.do('step', () => null),
      await step.do('function', 'nothing'),
      await step.do('function', 'nil'),
      await step.do('child', child, 'nothing'),
      await step.do('child', child, 'null'),
      await step.waitForEvent('event'),
    ])
    const functions = { nothing: () => {}, nil: () => null }
    const test = await testEngine({ workflows: [workflow, child], functions, hotRuns: 0 })
    const { handle } = await test.run(workflow, null)
    await test.engine.sendEvent(handle.id, 'event')
    const result = await test.until(handle.result())
    expect(result).toStrictEqual([undefined, null, undefined, null, undefined, null, undefined])
  })

  it('B069 that are nested too deeply use up the attempts, and no more', async () => {
    const deep = (): unknown => Array.from({ length: 100_000 }).reduce<unknown>((inner) => [inner], null)
    const workflow = defineWorkflow({ name: 'w' }, ({ step }) =>
      step.do('deep', deep, { retries: 2, retryDelay: 0 }),
    )
    const test = await testEngine({ workflows: [workflow] })
    const { status, error } = await test.run(workflow, null)
    expect([status, codeOf(error), test.bodies.length]).toEqual(['failed', 'UNSERIALIZABLE_VALUE', 3])
    expect(messageOf(error)).toMatch(/step "deep".*nested/)
    expect((await test.run(workflow, null)).status).toBe('failed')
  })
})
