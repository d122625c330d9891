import { isDeepStrictEqual } from 'node:util'
import { scenario } from './scenario.ts'

const rich = () => ({
  date: new Date(5),
  map: new Map([['a', new Set([1])]]),
  big: 12n,
  nothing: undefined,
  nan: Number.NaN,
  negative: -0,
  nested: [undefined, null, false, '', 0],
  text: 'NUL \u0000 and a lone \ud800',
})

const thrown = (value: unknown) => () => {
  throw value
}

/** Values and errors on their way through the journal. */
export const values = [
  scenario(
    'rich values',
    async ({ step, input }) => {
      const result = await step.do('rich', rich)
      await step.sleep('pause', '1 day')
      return [isDeepStrictEqual(result, rich()), isDeepStrictEqual(input, rich()), result]
    },
    { input: rich(), output: [true, true, rich()], bodies: 1 },
  ),

  scenario(
    'plain values that look like none',
    async ({ step }) => {
      const results: unknown[] = []
      for (const value of [undefined, null, 0, false, '']) results.push(await step.do('value', () => value))
      return results
    },
    { output: [undefined, null, 0, false, ''], bodies: 5 },
  ),

  scenario('no output', async ({ step }) => void (await step.do('a', () => 1)), {
    output: undefined,
    bodies: 1,
  }),

  scenario(
    'a result that the function changes',
    async ({ step }) => {
      const list = await step.do('list', () => ['a'])
      list.push('b')
      await step.sleep('pause', '1h')
      list.push(await step.do('last', () => 'c'))
      return list
    },
    { output: ['a', 'b', 'c'], bodies: 2 },
  ),

  scenario(
    'thrown null, text and a circle',
    async ({ step }) => {
      const circle: Record<string, unknown> = { name: 'circle' }
      circle['self'] = circle
      const caught: unknown[] = []
      for (const value of [null, 'text', circle]) {
        caught.push(await step.do('bad', thrown(value)).catch((error: unknown) => error))
        await step.sleep('pause', '1m')
      }
      return [caught[0], caught[1], (caught[2] as { name?: string }).name]
    },
    { output: [null, 'text', 'circle'], bodies: 3 },
  ),

  scenario('thrown null that nobody catches', thrown(null), { status: 'failed', bodies: 0 }),

  scenario(
    'an error with class, code, cause and fields',
    async ({ step }) => {
      const error = Object.assign(new TypeError('no', { cause: new Error('why') }), {
        code: 'E_NO',
        extra: [1n],
      })
      const first = await step.do('bad', thrown(error)).catch((caught: unknown) => caught)
      await step.sleep('pause', '1m')
      const { name, message, code, extra, cause } = first as typeof error
      return [first instanceof TypeError, name, message, code, extra, (cause as Error).message]
    },
    { output: [true, 'TypeError', 'no', 'E_NO', [1n], 'why'], bodies: 1 },
  ),

  scenario(
    'a result that cannot be stored',
    async ({ step }) => {
      const bad = step.do('bad', () => () => 'a function')
      return await bad.catch((error: { code: string }) => error.code)
    },
    { output: 'UNSERIALIZABLE_VALUE', bodies: 1 },
  ),
]
