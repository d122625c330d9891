import { scenario } from './scenario.ts'

const fail = (message: string) => (): never => {
  throw new Error(message)
}

const reason = (error: unknown): string => (error instanceof Error ? error.message : `not an error: ${error}`)

/** Steps, alone and side by side. */
export const steps = [
  scenario('nothing at all', () => 'done', { output: 'done', bodies: 0 }),

  scenario(
    'steps in sequence',
    async ({ step, input }) => {
      const a = await step.do('a', () => Number(input) + 1)
      const b = await step.do('b', () => a * 2)
      return await step.do('c', async () => [a, b])
    },
    { input: 20, output: [21, 42], bodies: 3 },
  ),

  scenario(
    'Promise.all',
    async ({ step }) => await Promise.all(['a', 'b', 'c'].map((name) => step.do(name, () => `${name}!`))),
    { output: ['a!', 'b!', 'c!'], bodies: 3 },
  ),

  scenario(
    'Promise.all with a failure, caught, and a step after it',
    async ({ step }) => {
      const all = Promise.all([step.do('a', () => 1), step.do('b', fail('b fails')), step.do('c', () => 3)])
      const message = await all.catch(reason)
      return await step.do('after', () => message)
    },
    { output: 'b fails', bodies: 4 },
  ),

  scenario(
    'Promise.race of steps',
    async ({ step }) => {
      const winner = await Promise.race([step.do('a', () => 'a'), step.do('b', () => 'b')])
      return [winner, await step.do('after', () => 'after')]
    },
    { output: ['a', 'after'], bodies: 3 },
  ),

  scenario(
    'Promise.any',
    async ({ step }) => await Promise.any([step.do('bad', fail('no')), step.do('good', () => 'yes')]),
    { output: 'yes', bodies: 2 },
  ),

  scenario(
    'Promise.allSettled',
    async ({ step }) => {
      const settled = await Promise.allSettled([step.do('good', () => 1), step.do('bad', fail('no'))])
      return settled.map((one) => (one.status === 'fulfilled' ? one.value : reason(one.reason)))
    },
    { output: [1, 'no'], bodies: 2 },
  ),

  scenario(
    'fifty steps at once',
    async ({ step }) => {
      const numbers = Array.from({ length: 50 }, (_, index) => step.do(`n${index}`, () => index))
      return (await Promise.all(numbers)).reduce((sum, number) => sum + number, 0)
    },
    { output: 1225, bodies: 50 },
  ),

  scenario(
    'the same name again and again',
    async ({ step }) => {
      const results: number[] = []
      for (let round = 0; round < 5; round += 1) results.push(await step.do('again', () => round))
      return results
    },
    { output: [0, 1, 2, 3, 4], bodies: 5 },
  ),

  scenario(
    'names with marks in them',
    async ({ step }) => {
      const names = ['a#2', 'a', 'a', '#', '__proto__', 'a.b$c', 'a##2']
      const results: string[] = []
      for (const name of names) results.push(await step.do(name, ({ stepId }) => stepId))
      return results.length === new Set(results).size
    },
    { output: true, bodies: 7 },
  ),

  scenario(
    'a hundred steps in a loop',
    async ({ step }) => {
      let sum = 0
      for (let round = 0; round < 100; round += 1) sum += await step.do('add', () => round)
      return sum
    },
    { output: 4950, bodies: 100 },
  ),

  scenario(
    'branches that interleave',
    async ({ step }) => {
      const trace: string[] = []
      const branch = async (name: string, seconds: number): Promise<void> => {
        await step.do(`${name} first`, () => name)
        trace.push(`${name} 1`)
        await step.sleep(`${name} pause`, `${seconds}s`)
        trace.push(`${name} 2`)
        await step.do(`${name} second`, () => name)
        trace.push(`${name} 3`)
      }
      await Promise.all([branch('slow', 200), branch('fast', 100), branch('same', 200)])
      return trace.join(', ')
    },
    {
      output: 'slow 1, fast 1, same 1, fast 2, fast 3, slow 2, same 2, slow 3, same 3',
      bodies: 6,
      resultMayChange: 'the function returns the order in which its branches went on',
    },
  ),

  scenario(
    'a step that nobody awaits',
    async ({ step }) => {
      void step.do('forgotten', () => 'kept all the same')
      return await step.do('awaited', () => 'awaited')
    },
    { output: 'awaited', bodies: 2 },
  ),

  scenario(
    'a failing step that nobody awaits',
    async ({ step }) => {
      void step.do('forgotten', fail('unseen'))
      await step.sleep('pause', '1m')
      return 'done'
    },
    { output: 'done', bodies: 1 },
  ),

  scenario(
    'a step that is awaited after its failure',
    async ({ step }) => {
      const bad = step.do('bad', fail('late'))
      await step.sleep('pause', '1h')
      return await bad.catch(reason)
    },
    { output: 'late', bodies: 1 },
  ),

  scenario(
    'try and catch around everything',
    async ({ step }) => {
      const seen: string[] = []
      for (const name of ['a', 'b', 'c']) {
        try {
          await step.do(name, name === 'b' ? fail('b fails') : () => name)
          await step.sleep(`after ${name}`, '1 day')
          seen.push(name)
        } catch (error) {
          seen.push(reason(error))
        } finally {
          await step.do(`cleanup ${name}`, () => null)
        }
      }
      return seen
    },
    { output: ['a', 'b fails', 'c'], bodies: 6 },
  ),

  scenario(
    'map with a concurrency',
    async ({ step }) =>
      await step.map('square', [1, 2, 3, 4, 5], (n, _context, index) => n * n + index, { concurrency: 2 }),
    { output: [1, 5, 11, 19, 29], bodies: 5 },
  ),

  scenario(
    'map with a failure',
    async ({ step }) => {
      const body = (n: number): number => (n === 2 ? fail('two')() : n)
      return await step.map('item', [1, 2, 3, 4], body, { concurrency: 1 }).catch(reason)
    },
    { output: 'two', bodies: 2 },
  ),

  scenario(
    'map over nothing, and with sleeps between',
    async ({ step }) => {
      const none = await step.map('none', [], () => 1)
      await step.sleep('pause', '5m')
      return [none, await step.map('some', ['x', 'y'], (text) => text)]
    },
    { output: [[], ['x', 'y']], bodies: 2 },
  ),

  scenario(
    'a step inside a step',
    async ({ step }) => {
      const nested = step.do('outer', async () => await step.do('inner', () => 1))
      return await nested.catch((error: { code: string }) => error.code)
    },
    { output: 'NESTED_STEP', bodies: 1 },
  ),

  scenario(
    'a failing function',
    () => {
      throw new RangeError('too far')
    },
    { status: 'failed', error: { name: 'RangeError', message: 'too far' }, bodies: 0 },
  ),

  scenario('a failing step that nobody catches', async ({ step }) => await step.do('bad', fail('boom')), {
    status: 'failed',
    error: { name: 'Error', message: 'boom' },
    bodies: 1,
  }),
]
