import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { PermanentError } from '../../src/core/errors.ts'
import { defineWorkflow } from '../../src/engine/define.ts'
import { failing, messageOf, rejection, testEngine } from './kit.ts'
import { forEachStore } from './stores.ts'

const circle: Record<string, unknown> = { why: 'round' }
circle['self'] = circle

class PaymentError extends Error {
  readonly code = 'E_PAY'
  readonly details = { amount: 5n, at: new Date(7) }
}

const socket: Record<string, unknown> = { write: () => true }
socket['socket'] = socket

/** Whatever people throw. What cannot be kept is described instead: `kept` is false. */
const thrown: readonly (readonly [name: string, value: unknown, kept: boolean])[] = [
  ['null', null, true],
  ['undefined', undefined, true],
  ['a text', 'text', true],
  ['an empty text', '', true],
  ['a number', 42, true],
  ['false', false, true],
  ['a BigInt', 7n, true],
  ['a plain object', { reason: 'plain', nested: [1] }, true],
  ['a frozen object', Object.freeze({ frozen: true }), true],
  ['a circular object', circle, true],
  ['a list', ['a', undefined], true],
  ['a symbol', Symbol('mark'), false],
  ['a function', () => 1, false],
  ['a promise', Promise.resolve(1), false],
  [
    'an object whose getter throws',
    {
      get message(): string {
        throw new Error('no')
      },
    },
    false,
  ],
  [
    'a proxy that throws',
    new Proxy({}, { get: failing(new Error('trap')), ownKeys: failing(new Error('trap')) }),
    false,
  ],
  ['an error with a circular field', Object.assign(new Error('circular'), { circle }), true],
  ['an error with a socket', Object.assign(new Error('socket'), { socket }), false],
  ['an error with a huge stack', Object.assign(new Error('huge'), { stack: 'x'.repeat(5_000_000) }), false],
  ['an error with a huge message', new Error('y'.repeat(3_000_000)), false],
  ['an error with a huge field', Object.assign(new Error('field'), { data: 'z'.repeat(2_000_000) }), false],
  [
    'an error that is its own cause',
    ((error) => Object.assign(error, { cause: error }))(new Error('self')),
    false,
  ],
]

function same(a: unknown, b: unknown): boolean {
  return a instanceof Error && b instanceof Error
    ? isDeepStrictEqual(viewOf(a), viewOf(b))
    : isDeepStrictEqual(a, b)
}

/** All that code may look at. */
function viewOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { name, message, cause } = error
  const members = error instanceof AggregateError ? error.errors.map(viewOf) : null
  return { name, message, kind: error.constructor.name, fields: { ...error }, cause: viewOf(cause), members }
}

forEachStore((database) => {
  it('X17 whatever is thrown ends the step and the run, and can be read', async () => {
    const values = new Map(thrown.map(([name, value]) => [name, value]))
    const inStep = defineWorkflow({ name: 'in a step' }, ({ input, step }) =>
      step.do('bad', failing(values.get(String(input)))),
    )
    const outside = defineWorkflow({ name: 'outside' }, ({ input }) => failing(values.get(String(input)))())
    const test = await testEngine({ store: database()(), workflows: [inStep, outside] })
    for (const [name, value, kept] of thrown) {
      for (const workflow of [inStep, outside]) {
        const { status, error, handle, record } = await test.run(workflow, name)
        expect([name, status]).toEqual([name, 'failed'])
        expect((record.error ?? '').length).toBeLessThan(100_000)
        const failure = await rejection(test.until(handle.result()))
        expect(failure).toMatchObject({ code: 'RUN_FAILED' })
        expect([name, same((failure as Error).cause, error)]).toEqual([name, true])
        if (kept) expect([name, same(error, value)]).toEqual([name, true])
        else expect(error).toBeInstanceOf(Error)
        expect((await handle.history()).run.status).toBe('failed')
      }
    }
  })
})

describe.each(thrown)('%s, thrown', (_, value, kept) => {
  it('B078 reaches catch, the same live and on a replay', async () => {
    const caught: unknown[] = []
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      try {
        await step.do('bad', failing(value))
      } catch (error) {
        caught.push(error)
      }
      await step.sleep('pause', '1m')
      return caught.length
    })
    const test = await testEngine({ workflows: [workflow], hotRuns: 0 })
    expect((await test.run(workflow, null)).output).toBe(2)
    expect(same(caught[0], caught[1])).toBe(true)
    if (kept) expect(same(caught[0], value)).toBe(true)
  })
})

const rich: Readonly<Record<string, Error>> = {
  'a built-in class': new TypeError('type'),
  'a subclass with fields': new PaymentError('refused'),
  'a code and a name': Object.assign(new Error('gone'), { code: 'ENOENT', errno: -2, name: 'SystemError' }),
  'a chain of causes': new Error('a', {
    cause: new PaymentError('b', { cause: new Error('c', { cause: 'text' }) }),
  }),
  'an AggregateError': new AggregateError([new TypeError('one'), 'two', new PaymentError('three')], 'many'),
  'an error of this package': new PermanentError('card refused', { cause: new Error('402') }),
}

describe.each(Object.entries(rich))('an error with %s', (_, error) => {
  it('X19 keeps class name, message, code, fields and causes, everywhere', async () => {
    const seen: unknown[] = []
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      const own = await step.do('own', failing(error)).catch((caught: unknown) => caught)
      const remote = await step.do('remote', 'fails').catch((caught: unknown) => caught)
      seen.push(own, remote)
      await step.sleep('pause', '1m')
      throw own
    })
    const test = await testEngine({ workflows: [workflow], functions: { fails: failing(error) }, hotRuns: 0 })
    const { error: failure, handle } = await test.run(workflow, null)
    const { cause } = (await rejection(test.until(handle.result()))) as Error
    const [first] = seen
    // Classes that are neither built in nor of this package come back as errors with their name.
    const builtIn = error.constructor !== PaymentError
    expect((first as Error).name).toBe(error.name === 'Error' ? error.constructor.name : error.name)
    expect({ ...(first as Error) }).toEqual({ ...error })
    expect(messageOf(first)).toBe(error.message)
    expect((first as Error).stack).toContain(error.message)
    if (builtIn) expect(first).toBeInstanceOf(error.constructor)
    for (const other of [...seen, failure, cause]) expect(viewOf(other)).toEqual(viewOf(first))
  })

  it('B070 is deeply the same before and after a replay', async () => {
    const seen: unknown[] = []
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      const [settled] = await Promise.allSettled([step.do('bad', failing(error))])
      seen.push(viewOf((settled as PromiseRejectedResult).reason))
      for (const name of ['a', 'b']) await step.sleep(name, '1m')
    })
    const test = await testEngine({ workflows: [workflow], hotRuns: 0 })
    await test.run(workflow, null)
    expect(seen).toHaveLength(3)
    expect(seen[1]).toEqual(seen[0])
    expect(seen[2]).toEqual(seen[0])
    const causes = (view: unknown): number => {
      const cause = (view as { cause?: unknown } | undefined)?.cause
      return cause === undefined ? 0 : 1 + causes(cause)
    }
    expect(causes(seen[0])).toBe(causes(viewOf(error)))
  })
})
