import { describe, expect, it } from 'vitest'
import { PermanentError, RetryAfterError } from './errors.ts'
import { isPermanentHttpError, retryUnlessPermanent } from './http-error.ts'

const permanent = [400, 401, 402, 403, 404, 405, 409, 410, 413, 418, 421, 422, 423, 451, 499]
const passing = [408, 425, 429, 500, 501, 502, 503, 504, 599]
const noErrors = [100, 200, 204, 301, 304, 399]
const noStatus = [0, 1, 40, 600, 1404, 404.5, -404, Number.NaN, Number.POSITIVE_INFINITY, 404n]

/** Where clients put the status. */
const places: readonly (readonly [string, (status: unknown) => unknown])[] = [
  ['status', (status) => Object.assign(new Error('no'), { status })],
  ['statusCode', (status) => Object.assign(new Error('no'), { statusCode: status })],
  ['response.status', (status) => Object.assign(new Error('no'), { response: { status } })],
  ['response.statusCode', (status) => Object.assign(new Error('no'), { response: { statusCode: status } })],
  ['the status of its cause', (status) => new Error('no', { cause: { status } })],
]

describe.each(places)('an HTTP status in %s', (_, errorOf) => {
  it.each(permanent)('is permanent: %d', (status) => {
    expect(isPermanentHttpError(errorOf(status))).toBe(true)
    expect(isPermanentHttpError(errorOf(String(status)))).toBe(true)
  })

  it.each([...passing, ...noErrors])('may pass: %d', (status) => {
    expect(isPermanentHttpError(errorOf(status))).toBe(false)
    expect(isPermanentHttpError(errorOf(String(status)))).toBe(false)
  })

  it.each(noStatus)('is none: %s', (status) => {
    expect(isPermanentHttpError(errorOf(status))).toBe(false)
  })

  it.each(['', 'failed', '404 Not Found', ' 404', '4e2', '0x194', null, {}, [404], true, () => 404])(
    'is none: %o',
    (status) => {
      expect(isPermanentHttpError(errorOf(status))).toBe(false)
    },
  )
})

describe('the status that decides', () => {
  it('is the first that is one', () => {
    expect(isPermanentHttpError({ status: 503, statusCode: 404 })).toBe(false)
    expect(isPermanentHttpError({ statusCode: 503, response: { status: 404 } })).toBe(false)
    expect(isPermanentHttpError({ response: { status: 503, statusCode: 404 } })).toBe(false)
    expect(isPermanentHttpError({ status: 'failed', statusCode: 0, response: { status: 404 } })).toBe(true)
  })

  it('is that of the error, not of what caused it', () => {
    expect(isPermanentHttpError({ status: 502, cause: { status: 404 } })).toBe(false)
    expect(isPermanentHttpError({ status: 404, cause: { status: 502 } })).toBe(true)
  })

  it('is found in up to eight causes', () => {
    const wrapped = (times: number): unknown =>
      times === 0 ? { status: 404 } : new Error('no', { cause: wrapped(times - 1) })
    expect(isPermanentHttpError(wrapped(8))).toBe(true)
    expect(isPermanentHttpError(wrapped(9))).toBe(false)
  })

  it('is not looked for behind a RetryAfterError, which has decided', () => {
    const busy = new RetryAfterError('30s', 'Busy.', { cause: { status: 403 } })
    expect(isPermanentHttpError(busy)).toBe(false)
    expect(isPermanentHttpError(new Error('no', { cause: busy }))).toBe(false)
  })

  it('is found on a thrown Response, where it is inherited', () => {
    expect(isPermanentHttpError(new Response(null, { status: 404 }))).toBe(true)
    expect(isPermanentHttpError(new Response(null, { status: 429 }))).toBe(false)
  })

  it('is found on a function, for whoever throws one', () => {
    expect(isPermanentHttpError(Object.assign(() => {}, { status: 404 }))).toBe(true)
  })
})

describe('what is thrown', () => {
  const oddities: readonly unknown[] = [
    null,
    undefined,
    404,
    '404',
    404n,
    true,
    Symbol('404'),
    [],
    {},
    () => {},
  ]
  it.each(oddities)('is no HTTP error: %o', (thrown) => {
    expect(isPermanentHttpError(thrown)).toBe(false)
    expect(retryUnlessPermanent(thrown)).toBe(true)
  })

  it('may be a cycle of causes', () => {
    const error = new Error('no')
    error.cause = error
    expect(isPermanentHttpError(error)).toBe(false)
  })

  it('may throw when it is read', () => {
    const trap = {
      get status(): number {
        throw new Error('trap')
      },
      statusCode: 404,
    }
    expect(isPermanentHttpError(trap)).toBe(true)
  })

  it('may be a proxy that throws at everything', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(isPermanentHttpError(proxy)).toBe(false)
    expect(retryUnlessPermanent(proxy)).toBe(true)
  })
})

describe('retryUnlessPermanent', () => {
  it('gives up on permanent HTTP errors and on what is permanent otherwise', () => {
    expect(retryUnlessPermanent({ status: 404 })).toBe(false)
    expect(retryUnlessPermanent(new PermanentError('The card was refused.'))).toBe(false)
    expect(retryUnlessPermanent({ status: 503, cause: { permanent: true } })).toBe(false)
  })

  it('goes on otherwise', () => {
    expect(retryUnlessPermanent({ status: 429 })).toBe(true)
    expect(retryUnlessPermanent(new TypeError('fetch failed'))).toBe(true)
    expect(retryUnlessPermanent(new RetryAfterError('30s', 'Busy.', { cause: { status: 403 } }))).toBe(true)
  })
})
