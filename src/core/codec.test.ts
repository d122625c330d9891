import { stringify } from 'devalue'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeValue, encodeValue } from './codec.ts'
import { PermanentError, UnserializableValueError, ValueTooLargeError } from './errors.ts'

const options = { what: 'The result of step "pay"', maxBytes: 1024 * 1024 }
const encode = (value: unknown) => encodeValue(value, options)
const roundTrip = (value: unknown) => decodeValue(encode(value))

/** Without what some store cannot keep: control characters, and halves of surrogate pairs. */
const isPlainText = (text: string) =>
  !/\p{Surrogate}/u.test(text) && ![...text].some((character) => character < ' ')

class Money {
  amount = 1
}

describe('values that come back equal', () => {
  const circular: Record<string, unknown> = { list: [] }
  circular['self'] = circular
  circular['list'] = [circular, new Map([[circular, circular]]), new Set([circular])]
  const sparse: unknown[] = []
  sparse[3] = 'x'
  sparse[9] = undefined

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['zero', 0],
    ['minus zero', -0],
    ['false', false],
    ['empty text', ''],
    ['NaN', Number.NaN],
    ['infinities', [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]],
    ['a small number', 5e-324],
    ['a big number', 1e21],
    ['big integers', [0n, -(2n ** 100n)]],
    ['a date', new Date(1_700_000_000_000)],
    ['an invalid date', new Date(Number.NaN)],
    ['the last date', new Date(8.64e15)],
    ['a map', new Map<unknown, unknown>([[{ a: 1 }, new Set([1])]])],
    ['a set', new Set(['a', undefined, null, Number.NaN])],
    ['a regular expression', /a"<\/\n\ud800/giu],
    ['a URL', new URL('https://a.example/b?c=%20#d')],
    ['search parameters', new URLSearchParams('a=1&a=2')],
    ['bytes', new Uint8Array([0, 1, 255])],
    ['floats', new Float64Array([1.5, Number.NaN, -0])],
    ['big integer arrays', new BigInt64Array([-1n])],
    ['an array buffer', new Uint8Array([1, 2]).buffer],
    ['a data view', new DataView(new Uint8Array([1, 2]).buffer)],
    ['boxed values', [Object(1), Object('x'), Object(true), Object(1n)]],
    ['a sparse array', sparse],
    ['a mostly empty array', Object.assign([], { 1000000: 1 })],
    ['circular references', circular],
    ['an empty object', {}],
    ['undefined fields', { a: undefined, b: null, c: 1 }],
    ['equal fields', { a: 1, b: 1, c: 'x', d: 'x', e: true, f: true, g: null, h: null }],
    ['many fields', Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`k${i}`, i % 7]))],
    ['awkward keys', { 'a.b': 1, $set: 2, '': 3, 'a\0b': 4, '\ud800': 5, constructor: 6, '"<': 8 }],
    ['an object without prototype', Object.assign(Object.create(null), { a: 1 })],
    [
      'awkward text',
      ['\ud800', '\udc00x', '\\u0000', '\0', '😀', '\ufffe', '\u2028', '<', '"', '\x7f', '\u0085'],
    ],
    ['text with NUL', 'a\0b'],
    ['half a pair', '\ud800'],
    ['a key named then', Object.fromEntries([['then', 1]])],
  ])('%s', (_, value) => {
    const text = encode(value)
    expect(isPlainText(text)).toBe(true)
    expect(decodeValue(text)).toStrictEqual(value)
    // On the first execution as on a replay.
    expect(roundTrip(decodeValue(text))).toStrictEqual(value)
  })

  it('keep undefined, 0, false, empty text and null apart', () => {
    expect(new Set([undefined, 0, false, '', null, -0].map(encode)).size).toBe(6)
  })

  it('keep shared references shared', () => {
    const shared = { a: 1 }
    const [first, second] = roundTrip([shared, shared]) as unknown[]
    expect(first).toBe(second)
  })

  it('are all of what fast-check can think of', () => {
    // toStrictEqual takes an own `constructor` for the class; that key has a test of its own.
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withSparseArray: true,
      withNullPrototype: true,
      withBoxedValues: true,
      key: fc
        .oneof(
          fc.string({ unit: 'binary' }),
          fc.constantFrom('__proto__', '__proto__~', '__proto__~~', 'toString', '\ud800'),
        )
        .filter((key) => key !== 'constructor'),
    })
    fc.assert(
      fc.property(anything, (value) => {
        const text = encode(value)
        expect(isPlainText(text)).toBe(true)
        expect(decodeValue(text)).toStrictEqual(value)
        expect(encode(decodeValue(text))).toBe(text)
      }),
      { numRuns: 1000 },
    )
  })

  it('include any text, as value and as key', () => {
    const unit = fc.oneof(
      fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
      fc.constantFrom('\ud800', '\udc00', '\0', '\\', '"', '<', '~', '__proto__'),
    )
    fc.assert(
      fc.property(fc.string({ unit }), fc.string({ unit }), (key, text) => {
        expect(roundTrip(text)).toBe(text)
        const back = roundTrip({ [key]: text, other: [text] }) as object
        expect(Object.entries(back)).toEqual(Object.entries({ [key]: text, other: [text] }))
      }),
    )
  })
})

describe('keys named __proto__', () => {
  it('come back as own properties and touch no prototype', () => {
    const text = '{"__proto__":{"x":1},"__proto__~":2,"constructor":{"prototype":{"y":1}}}'
    const back = roundTrip(JSON.parse(text)) as object
    expect(JSON.stringify(back)).toBe(text)
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype)
    expect(({} as { x?: unknown }).x).toBeUndefined()
    expect(({} as { y?: unknown }).y).toBeUndefined()
  })

  it('may be circular, and without a prototype', () => {
    const value = Object.create(null)
    Object.defineProperty(value, '__proto__', { value, enumerable: true })
    const back = roundTrip(value)
    expect(Object.getPrototypeOf(back)).toBe(null)
    expect(Object.getOwnPropertyDescriptor(back, '__proto__')?.value).toBe(back)
  })

  it('are not set by text that holds them', () => {
    expect(() => decodeValue('[{"__proto__":1},{"x":2},1]')).toThrow(UnserializableValueError)
  })
})

describe('values that come back as something near', () => {
  it('a Buffer as the Uint8Array that it is', () => {
    const back = roundTrip(Buffer.from('abc'))
    expect(Object.getPrototypeOf(back)).toBe(Uint8Array.prototype)
    expect(back).toEqual(new Uint8Array([97, 98, 99]))
  })

  it('a part of a buffer without the bytes beside it', () => {
    const secret = new Uint8Array(4096).fill(7)
    expect(encode(secret.subarray(1, 3)).length).toBeLessThan(100)
    expect(roundTrip(secret.subarray(1, 3))).toEqual(new Uint8Array([7, 7]))
    expect(roundTrip(new Uint16Array(secret.buffer, 2, 3))).toEqual(new Uint16Array([0x0707, 0x0707, 0x0707]))
    expect((roundTrip(new DataView(secret.buffer, 2, 3)) as DataView).byteLength).toBe(3)
  })

  it('getters as the values that they return', () => {
    expect(
      roundTrip({
        get a() {
          return 1
        },
      }),
    ).toEqual({ a: 1 })
  })

  it('objects with toJSON as what they are, since it is not called', () => {
    expect(roundTrip({ a: 1, toJSON: 5 })).toEqual({ a: 1, toJSON: 5 })
    expect(() => encode({ toJSON: () => 'x' })).toThrow('.toJSON is a function')
  })
})

describe('errors inside values', () => {
  it('keep class, message, fields and cause', () => {
    const error = Object.assign(new TypeError('no', { cause: new PermanentError('never') }), { status: 402 })
    const { errors } = roundTrip({ errors: [error, error] }) as { errors: [TypeError, TypeError] }
    expect(errors[0]).toBe(errors[1])
    expect(errors[0]).toBeInstanceOf(TypeError)
    expect(errors[0]).toMatchObject({ message: 'no', status: 402, cause: { permanent: true } })
    expect(errors[0].cause).toBeInstanceOf(PermanentError)
  })

  it('may refer back to the value that holds them', () => {
    const value: Record<string, unknown> = {}
    value['error'] = Object.assign(new Error('x'), { value })
    expect(roundTrip(value)).toMatchObject({ error: { message: 'x', dropped: ['value'] } })
  })

  it('of another realm, too', () => {
    const foreign = Object.assign(
      Object.create({
        get [Symbol.toStringTag]() {
          return 'Error'
        },
      }),
      { message: 'x' },
    )
    expect(roundTrip([foreign])).toMatchObject([{ message: 'x' }])
  })
})

describe('values that are refused', () => {
  const throwing = new Proxy(
    {},
    {
      get() {
        throw new Error('trapped')
      },
      ownKeys() {
        throw new Error('trapped')
      },
    },
  )
  const deaf = new Proxy(
    {},
    {
      ownKeys() {
        throw new Error('trapped')
      },
    },
  )
  const unowned = new Proxy([1], {
    getOwnPropertyDescriptor() {
      throw new Error('trapped')
    },
    get: (target, key) => {
      if (key === '0') throw new Error('trapped')
      return Reflect.get(target, key)
    },
  })
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const getter = {
    get bad() {
      throw new Error('trapped')
    },
  }

  it.each<[string, unknown, string]>([
    ['a function', () => 1, 'a function'],
    ['a symbol', Symbol('x'), 'a symbol'],
    ['a boxed symbol', Object(Symbol('x')), 'an instance of Symbol'],
    ['a class', Money, 'a function'],
    ['an instance of a class', new Money(), 'an instance of Money'],
    ['an instance of an unnamed class', new (class {})(), 'an instance of '],
    ['an instance of a subclass of Array', new (class List extends Array {})(), 'an instance of List'],
    ['an instance of a subclass of Map', new (class Index extends Map {})(), 'an instance of Index'],
    ['an instance of a subclass of Date', new (class Day extends Date {})(0), 'an instance of Day'],
    ['a promise', Promise.resolve(1), 'a promise'],
    ['a thenable', Object.fromEntries([['then', () => 1]]), 'a promise'],
    ['a weak map', new WeakMap(), 'an instance of WeakMap'],
    ['a generator', (function* () {})(), 'an instance of'],
    ['shared memory', new SharedArrayBuffer(2), 'an instance of SharedArrayBuffer'],
    ['symbol keys', { [Symbol('x')]: 1 }, 'symbol keys'],
    ['an object that poses as a date', { [Symbol.toStringTag]: 'Date' }, 'an instance of Object'],
    ['Math', Math, 'an instance of Object'],
    ['an object that inherits from an instance', Object.create({ a: 1 }), 'an instance of Object'],
    ['an object without a class', Object.create(Object.create(null)), 'an instance of a class'],
    ['a proxy that throws', throwing, 'unreadable: reading it threw Error: trapped'],
    ['a proxy that hides its keys', deaf, 'unreadable'],
    ['a proxy of an array that throws', unowned, 'unreadable'],
    ['a revoked proxy', revoked.proxy, 'unreadable'],
    ['a getter that throws', getter, 'unreadable: reading it threw Error: trapped'],
  ])('%s, naming the path', (_, value, message) => {
    expect(() => encode(value)).toThrow(UnserializableValueError)
    expect(() => encode(value)).toThrow(message)
    expect(() => encode({ a: [value] })).toThrow(/^The result of step "pay" cannot be stored: \.a\[0\]/)
    expect(() => encode(new Map([['k', value]]))).toThrow('.get("k")')
    expect(() => encode(new Set([value]))).toThrow(UnserializableValueError)
  })

  it('a class that poses as a built-in one', () => {
    class Fake {
      get [Symbol.toStringTag]() {
        return 'Map'
      }
    }
    Object.defineProperty(Fake, 'name', { value: 'Map' })
    expect(() => encode([new Fake()])).toThrow(UnserializableValueError)
  })

  it('too deep ones, far before the stack ends', () => {
    const nest = (levels: number, wrap: (inner: unknown) => unknown) => {
      let value: unknown = 'x'
      for (let i = 0; i < levels; i++) value = wrap(value)
      return value
    }
    const wraps = [
      (inner: unknown) => ({ inner }),
      (inner: unknown) => [inner],
      (inner: unknown) => new Set([inner]),
      (inner: unknown) => new Map([[inner, 1]]),
    ]
    for (const wrap of wraps) {
      expect(roundTrip(nest(500, wrap))).toBeDefined()
      expect(() => encode(nest(501, wrap))).toThrow('nested more than 500 levels deep')
      expect(() => encode(nest(100_000, wrap))).toThrow(UnserializableValueError)
    }
  })

  it('but not wide ones with many references back', () => {
    const parent: { children: unknown[] } = { children: [] }
    for (let i = 0; i < 2000; i++) parent.children.push({ parent, siblings: parent.children })
    expect(() => roundTrip(parent)).not.toThrow()
  })

  it('ones met when the stack is nearly used up', () => {
    const value = { a: [{ b: [{ c: [{ d: [{ e: [1] }] }] }] }] }
    const outcomes: unknown[] = []
    const dig = (): void => {
      try {
        encode(value)
      } catch (error) {
        outcomes.push(error)
        return
      }
      dig()
    }
    dig()
    expect(outcomes[0]).toSatisfy(
      (error) => error instanceof UnserializableValueError || error instanceof RangeError,
    )
  })
})

describe('the size limit', () => {
  it('counts the bytes of the encoded text', () => {
    expect(encodeValue('aaaa', { what: 'x', maxBytes: 8 })).toBe('["aaaa"]')
    expect(encodeValue('éé', { what: 'x', maxBytes: 8 })).toBe('["éé"]')
    expect(() => encodeValue('ééé', { what: 'The input', maxBytes: 8 })).toThrow(ValueTooLargeError)
    expect(() => encodeValue('ééé', { what: 'The input', maxBytes: 8 })).toThrow(
      /^The input has 10 bytes when encoded; at most 8 are allowed\. .*maxValueBytes/,
    )
  })
})

describe('decodeValue', () => {
  it.each([
    '',
    'x',
    '{}',
    '[]',
    '"a"',
    'null',
    '5',
    '-2',
    '[[1]]',
    '[["Nope",1]]',
    '[["Error",1],"x"]',
    '[["Error",1],{}]',
  ])('refuses %j with a typed error', (text) => {
    expect(() => decodeValue(text)).toThrow(UnserializableValueError)
  })

  it('refuses text that is nested too deeply', () => {
    const levels = Array.from({ length: 100_000 }, (_, i) => `[${i + 1}]`)
    expect(() => decodeValue(`[${levels.join()},1]`)).toThrow(UnserializableValueError)
  })
})

describe('the short way for small values', () => {
  it('writes what devalue writes', () => {
    const primitive = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('a', '<', 'b'),
      fc.boolean(),
      fc.double(),
      fc.integer({ min: -2, max: 2 }),
      fc.constantFrom(null, undefined, -0),
    )
    const key = fc
      .oneof(fc.string({ unit: 'binary' }), fc.constantFrom('a', 'then', '9', '"'))
      .filter((text) => !text.startsWith('__proto__'))
    fc.assert(
      fc.property(fc.oneof(primitive, fc.dictionary(key, primitive, { noNullPrototype: true })), (value) => {
        expect(encode(value)).toBe(stringify(value))
      }),
      { numRuns: 1000 },
    )
  })
})
