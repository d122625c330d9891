import { types } from 'node:util'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { decodeError, encodeError, isPermanent, retryAfterOf } from './error-codec.ts'
import * as errors from './errors.ts'
import { utf8Length } from './utf8.ts'

const roundTrip = (thrown: unknown) => decodeError(encodeError(thrown)) as Record<string, unknown> & Error

/** What a `catch` can see of an error, to compare two of them. */
const seen = (error: unknown): unknown =>
  error instanceof Error
    ? {
        class: Object.getPrototypeOf(error),
        name: error.name,
        message: error.message,
        stack: error.stack,
        fields: Object.entries(error),
        cause: seen(error.cause),
        errors: error instanceof AggregateError ? error.errors.map(seen) : [],
      }
    : error

const hostile = () => {
  const trap = () => {
    throw new Error('trapped')
  }
  return new Proxy(
    {},
    { get: trap, has: trap, ownKeys: trap, getPrototypeOf: trap, getOwnPropertyDescriptor: trap },
  )
}

describe('errors come back', () => {
  it.each([
    ['plain', new Error('x')],
    ['without a message', new Error()],
    ['of a built-in class', new RangeError('x')],
    [
      'with fields',
      Object.assign(new Error('x'), {
        code: 'E_X',
        status: 500,
        at: new Date(0),
        list: [1n],
        none: undefined,
      }),
    ],
    ['with a name of its own', Object.assign(new Error('x'), { name: 'Custom' })],
    ['with causes down to text', new TypeError('a', { cause: new Error('b', { cause: 'text' }) })],
    ['with an undefined cause', new Error('x', { cause: undefined })],
    ['with members', new AggregateError([new SyntaxError('a'), 5, new Error('b', { cause: null })], 'many')],
    ['with an error as a field', Object.assign(new Error('x'), { first: new TypeError('y') })],
    ['with awkward text', Object.assign(new Error('\ud800\0"'), { 'a\0': '\udc00', __proto_: 1 })],
  ])('%s', (_, error) => {
    const back = roundTrip(error)
    expect(seen(back)).toEqual(seen(error))
    expect(seen(roundTrip(back))).toEqual(seen(error))
    expect(types.isNativeError(back)).toBe(true)
  })

  it.each([TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError])(
    'as instances of %o',
    (Class) => {
      const back = roundTrip(new Class('x'))
      expect(back).toBeInstanceOf(Class)
      expect(back.name).toBe(Class.name)
    },
  )

  it('from another realm', () => {
    expect(roundTrip(runInNewContext("new TypeError('x')"))).toBeInstanceOf(TypeError)
    expect(roundTrip(runInNewContext("new Error('x')"))).toMatchObject({ name: 'Error', message: 'x' })
  })

  it('with the name of their class when they have none', () => {
    class Fatal extends Error {}
    class Bad extends TypeError {}
    expect(roundTrip(new Fatal('x'))).toMatchObject({ name: 'Fatal', message: 'x' })
    expect(roundTrip(new Bad('x'))).toBeInstanceOf(TypeError)
    expect(roundTrip(new Bad('x')).name).toBe('Bad')
    expect(roundTrip(new (class extends Error {})('x')).name).toBe('Error')
    expect(Object.keys(roundTrip(new Fatal('x')))).toEqual([])
  })

  it('with a name that their class gives', () => {
    const back = roundTrip(new DOMException('stopped', 'AbortError'))
    expect(back).toMatchObject({ name: 'AbortError', message: 'stopped', code: 20 })
  })

  it('with an own key __proto__ and no harm', () => {
    const error = Object.defineProperty(new Error('x'), '__proto__', { value: { evil: 1 }, enumerable: true })
    const back = roundTrip(error)
    expect(Object.getPrototypeOf(back)).toBe(Error.prototype)
    expect(Object.entries(back)).toEqual([['__proto__', { evil: 1 }]])
  })

  it('with a message that is no text', () => {
    expect(roundTrip(Object.assign(new Error(), { message: { a: 1 } })).message).toBe('{"a":1}')
    expect(roundTrip(Object.assign(new Error(), { message: undefined })).message).toBe('')
  })

  it('with marks that no loop sees', () => {
    class Final extends Error {
      get permanent() {
        return true
      }
      get code() {
        return 'x'.repeat(1000)
      }
    }
    const back = roundTrip(new Final('x'))
    expect(isPermanent(back)).toBe(true)
    expect(back['code']).toHaveLength(256)
    expect(Object.keys(back)).toEqual([])
  })
})

describe('errors of this package', () => {
  const all: errors.PerdureError[] = [
    new errors.InvalidArgumentError('x'),
    new errors.InvalidDurationError('x'),
    new errors.InvalidNameError('x'),
    new errors.InvalidInputError('x', [{ path: ['a'], message: 'no' }]),
    new errors.UnserializableValueError('x'),
    new errors.ValueTooLargeError('x'),
    new errors.JournalLimitError('x'),
    new errors.UnknownWorkflowError('x'),
    new errors.DuplicateWorkflowError('x'),
    new errors.RunNotFoundError('id'),
    new errors.RunStateError('x'),
    new errors.RunConflictError('x', 'id'),
    new errors.NonDeterminismError('x'),
    new errors.RunFailedError('id', 'order', new errors.PermanentError('x')),
    new errors.RunCancelledError('x', 'why'),
    new errors.RunCancelledError('x'),
    new errors.ChildCancelledError('x', 'id'),
    new errors.StepTimeoutError('x'),
    new errors.RunTimeoutError('x'),
    new errors.WaitTimeoutError('x'),
    new errors.StepInterruptedError('x'),
    new errors.NestedStepError('x'),
    new errors.PoisonedRunError('x'),
    new errors.ClaimLostError('x'),
    new errors.EngineClosedError(),
    ...(['unavailable', 'full', 'read-only', 'corrupt', 'newer-schema', 'missing-driver'] as const).map(
      (failure) => new errors.StoreError(failure, 'x'),
    ),
    new errors.PermanentError('x', { cause: 'y' }),
    new errors.RetryAfterError('30s'),
    new errors.PerdureError('OTHER', 'x'),
  ]

  it.each(all.map((error) => [error.code, error] as const))('%s keeps its class and fields', (_, error) => {
    expect(seen(roundTrip(error))).toEqual(seen(error))
    expect(errors.isPerdureError(roundTrip(error))).toBe(true)
  })

  it('are all in the table', () => {
    const classes = Object.values(errors).filter((each) =>
      Object.prototype.isPrototypeOf.call(errors.PerdureError, each),
    )
    expect(new Set(all.map((error) => error.constructor))).toEqual(new Set([...classes, errors.PerdureError]))
  })

  it('keep their name as subclasses', () => {
    class CardRefused extends errors.PermanentError {}
    const back = roundTrip(new CardRefused('x'))
    expect(back).toBeInstanceOf(errors.PermanentError)
    expect(back).toMatchObject({ name: 'CardRefused', permanent: true })
  })

  it('are known by their mark, not by a code that others may use', () => {
    expect(errors.isPerdureError(roundTrip(Object.assign(new Error('x'), { code: 'PERMANENT' })))).toBe(false)
  })
})

describe('whatever else was thrown', () => {
  it.each([
    null,
    undefined,
    'text',
    '',
    42,
    0,
    false,
    5n,
    Number.NaN,
    [1, 2],
    { permanent: true, a: [new Date(0)] },
  ])('comes back equal: %s', (thrown) => {
    expect(decodeError(encodeError(thrown))).toStrictEqual(thrown)
    expect(decodeError(encodeError(Object.freeze(thrown)))).toStrictEqual(thrown)
  })

  it('comes back circular', () => {
    const thrown: Record<string, unknown> = {}
    thrown['self'] = thrown
    expect(roundTrip(thrown)['self']).toBeInstanceOf(Object)
  })

  it('is described when it cannot be stored', () => {
    expect(roundTrip(Symbol('x'))).toMatchObject({ name: 'Error', message: 'Symbol(x)' })
    expect(roundTrip(Promise.resolve(1))).toMatchObject({ name: 'Promise', message: '{}' })
    expect(roundTrip(function failed() {}).message).toContain('failed')
    expect(roundTrip({ a: 1, f() {} })).toMatchObject({ name: 'Error', a: 1, dropped: ['f'] })
    expect(roundTrip(hostile())).toMatchObject({ name: 'Error' })
    const revoked = Proxy.revocable({}, {})
    revoked.revoke()
    expect(roundTrip(revoked.proxy).message).toContain('cannot be read')
  })

  it('keeps the fields of an instance of a class that is no error', () => {
    class HttpProblem {
      message = 'gone'
      status = 410
      permanent = true
      cause = new Error('inner')
    }
    const back = roundTrip(new HttpProblem())
    expect(back).toMatchObject({ name: 'HttpProblem', message: 'gone', status: 410, permanent: true })
    expect(back.cause).toMatchObject({ message: 'inner' })
  })
})

describe('what cannot be kept', () => {
  it('is dropped and named', () => {
    const error = Object.assign(new Error('x'), {
      ok: 1,
      send() {},
      socket: new (class Socket {})(),
      big: 'x'.repeat(20_000),
      ['k'.repeat(300)]: 1,
    })
    Object.defineProperty(error, 'bad', {
      enumerable: true,
      get() {
        throw new Error('trapped')
      },
    })
    const back = roundTrip(error)
    expect(Object.keys(back)).toEqual(['ok'])
    expect(back['dropped']).toEqual(['send', 'socket', 'big', `${'k'.repeat(99)}…`, 'bad'])
  })

  it('ends circles', () => {
    const error: Error & { self?: unknown; box?: unknown } = new Error('x')
    error.cause = error
    error.self = error
    error.box = { in: [error] }
    expect(roundTrip(error)['dropped']).toEqual(['self', 'box', 'cause'])
    const members: unknown[] = []
    const many = new AggregateError(members, 'x')
    many.errors.push(many, 'y')
    expect(roundTrip(many)).toMatchObject({ errors: ['y'], dropped: ['errors'] })
  })

  it('includes parts that throw when they are read', () => {
    const error = new Error('x')
    // The stack first: V8 reads name and message when it is redefined.
    for (const key of ['stack', 'name', 'message', 'cause', 'code', 'permanent', 'constructor']) {
      Object.defineProperty(error, key, {
        get() {
          throw new Error('trapped')
        },
      })
    }
    expect(roundTrip(error)).toMatchObject({ name: 'Error' })
    const many = Object.defineProperty(new AggregateError([]), 'errors', { value: 5 })
    expect(roundTrip(many)['errors']).toEqual([])
    expect(
      roundTrip(Object.defineProperty(new AggregateError([]), 'errors', { value: null }))['errors'],
    ).toEqual([])
  })

  it('includes a method named cause', () => {
    class Verbose extends Error {}
    Object.defineProperty(Verbose.prototype, 'cause', { value: () => 1 })
    expect(Object.hasOwn(roundTrip(new Verbose('x')), 'cause')).toBe(false)
  })
})

describe('bounds', () => {
  const chain = (length: number) => {
    let error: Error = new Error('0')
    for (let i = 1; i < length; i++) error = new Error(String(i), { cause: error })
    return error
  }

  it('8 causes', () => {
    const depth = (error: unknown): number => (error instanceof Error ? 1 + depth(error.cause) : 0)
    expect(depth(roundTrip(chain(9)))).toBe(9)
    expect(depth(roundTrip(chain(1000)))).toBe(9)
  })

  it('the members of an AggregateError, also when nested', () => {
    const nest = (levels: number): Error =>
      levels === 0 ? new Error('leaf') : new AggregateError(Array.from({ length: 4 }, () => nest(levels - 1)))
    expect(utf8Length(encodeError(nest(6)))).toBeLessThanOrEqual(65_536)
    const back = roundTrip(new AggregateError(Array.from({ length: 100 }, (_, i) => i)))
    expect(back['errors']).toHaveLength(16)
    expect(back['dropped']).toEqual(['errors'])
  })

  it('message and stack, frames rather than the message', () => {
    const error = new Error('m'.repeat(5_000_000))
    const back = roundTrip(error)
    expect(back.message).toHaveLength(16 * 1024)
    expect(back.stack).toHaveLength(Math.min(back.stack?.length ?? 0, 4096))
    expect(back.stack).toContain('\n    at ')
    const deep = Object.assign(new Error('x'), { stack: `Error: x\n    at a${'\n    at b'.repeat(10_000)}` })
    expect(roundTrip(deep).stack).toHaveLength(4096)
    expect(roundTrip(Object.assign(new Error('x'), { stack: 'y'.repeat(9999) })).stack).toHaveLength(4096)
    expect(roundTrip(Object.assign(new Error('x'), { stack: undefined })).stack).toBe('Error: x')
  })

  it('does not cut characters in half', () => {
    expect(roundTrip(new Error('😀'.repeat(20_000))).message).toMatch(/^(😀)+…$/u)
  })

  it('64 KiB in all: without fields, then without stacks, then alone', () => {
    const fields = () => Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`f${i}`, 'x'.repeat(900)]))
    const rich = Object.assign(new errors.RetryAfterError('30s', 'x', { cause: chain(3) }), fields())
    const first = roundTrip(rich)
    expect(first).toBeInstanceOf(errors.RetryAfterError)
    expect(first['code']).toBe('RETRY_AFTER')
    expect(first.stack).toContain('\n    at ')
    expect(first['dropped']).toHaveLength(20)
    expect(first.cause).toBeInstanceOf(Error)

    const stack = `Error: x\n    at ${'\0'.repeat(9000)}`
    const tall = (cause: unknown) => Object.assign(new Error('x', { cause }), { stack, data: 1 })
    const second = roundTrip(tall(tall(tall('end'))))
    expect(second.stack).toBe('Error: x')
    expect((second.cause as Error).message).toBe('x')

    const wide = (cause: unknown) => new Error('\0'.repeat(20_000), { cause })
    const third = roundTrip(new AggregateError([wide(wide(1)), 'y'], '\0'.repeat(20_000)))
    expect(third.message).toHaveLength(4096)
    expect(third['errors']).toEqual([])
    for (const error of [rich, tall(tall(tall('end'))), wide(wide(1))]) {
      expect(utf8Length(encodeError(error))).toBeLessThanOrEqual(65_536)
    }
  })

  it('thrown values', () => {
    expect(roundTrip('x'.repeat(5_000_000)).message).toHaveLength(16 * 1024)
    expect(Object.keys(roundTrip(new Array(100_000).fill('x')))).toEqual([])
    expect(Object.keys(roundTrip(new Uint8Array(1_000_000)))).toEqual([])
    const quotes = '"'.repeat(8000)
    expect(decodeError(encodeError(quotes))).toBe(quotes)
  })

  it('never throws, even with no stack left', () => {
    const outcomes: string[] = []
    const dig = (): void => {
      try {
        dig()
      } catch {
        // Some frames up there is room again.
      }
      if (outcomes.length < 50) {
        try {
          outcomes.push(encodeError(new Error('x')))
        } catch {
          // No room to call it at all.
        }
      }
    }
    dig()
    for (const outcome of outcomes) expect(decodeError(outcome)).toBeInstanceOf(Error)
  })
})

describe('decodeError', () => {
  it.each([
    '',
    'x',
    'null',
    '5',
    '{}',
    '[]',
    '{"name":"x"}',
    '{"name":1,"message":"x"}',
    '{"value":"nope"}',
    '{"value":5}',
  ])('refuses %j with a typed error', (text) => {
    expect(() => decodeError(text)).toThrow(errors.UnserializableValueError)
  })
})

describe('isPermanent', () => {
  it('knows the mark on anything, and on its causes', () => {
    expect(isPermanent(new errors.PermanentError('x'))).toBe(true)
    expect(isPermanent({ permanent: true })).toBe(true)
    expect(isPermanent(new Error('x', { cause: { cause: { permanent: true } } }))).toBe(true)
    expect(isPermanent(new errors.RunFailedError('id', 'order', new errors.PermanentError('x')))).toBe(true)
    expect(isPermanent(roundTrip(new Error('x', { cause: new errors.PermanentError('x') })))).toBe(true)
    expect(isPermanent(Object.assign(new Error('x'), { permanent: true }))).toBe(true)
  })

  it('is not taken in by anything else', () => {
    const circle = new Error('x')
    circle.cause = circle
    for (const thrown of [
      null,
      undefined,
      'permanent',
      5,
      Symbol('x'),
      {},
      { permanent: 1 },
      circle,
      hostile(),
    ]) {
      expect(isPermanent(thrown)).toBe(false)
    }
  })
})

describe('retryAfterOf', () => {
  it('gives the delay as it was given', () => {
    expect(retryAfterOf(new errors.RetryAfterError('30s'))).toBe('30s')
    expect(retryAfterOf(new errors.RetryAfterError(5))).toBe(5)
    expect(retryAfterOf({ code: 'RETRY_AFTER', retryAfter: 5 })).toBe(5)
    expect(retryAfterOf(roundTrip(new errors.RetryAfterError('30s')))).toBe('30s')
  })

  it('gives null for everything else', () => {
    for (const thrown of [null, 'x', new Error('x'), { retryAfter: 5 }, { code: 'RETRY_AFTER' }, hostile()]) {
      expect(retryAfterOf(thrown)).toBe(null)
    }
  })
})
