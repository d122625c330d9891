import { describe, expect, it } from 'vitest'
import { decodeError, encodeError } from '../../src/core/error-codec.ts'
import { isPermanentHttpError, retryUnlessPermanent } from '../../src/core/http-error.ts'
import { callers } from './callers.ts'
import { statusServer } from './server.ts'

const permanent = [400, 401, 404, 409, 410, 422]
const passing = [408, 425, 429, 500, 503]

/** What the call throws. */
async function failureOf(call: Promise<unknown>): Promise<unknown> {
  const response = await call.catch((error: unknown) => ({ error }))
  if (typeof response === 'object' && response !== null && 'error' in response) return response.error
  throw new Error('It succeeded.')
}

describe.each(callers)('the error of %s', (_, call) => {
  it.each(permanent)('is permanent for status %d', async (status) => {
    const { url } = await statusServer(status)
    const error = await failureOf(call(url))
    expect(isPermanentHttpError(error)).toBe(true)
    expect(retryUnlessPermanent(error)).toBe(false)
  })

  it.each(passing)('may pass for status %d', async (status) => {
    const { url } = await statusServer(status)
    const error = await failureOf(call(url))
    expect(isPermanentHttpError(error)).toBe(false)
    expect(retryUnlessPermanent(error)).toBe(true)
  })

  it('may pass if the connection is refused', async () => {
    const { url, close } = await statusServer()
    await close()
    const error = await failureOf(call(url))
    expect(error).toBeInstanceOf(Error)
    expect(isPermanentHttpError(error)).toBe(false)
    expect(retryUnlessPermanent(error)).toBe(true)
  })

  it('is judged the same when it is wrapped', async () => {
    const { url } = await statusServer(404)
    const error = await failureOf(call(url))
    expect(isPermanentHttpError(new Error('The charge failed.', { cause: error }))).toBe(true)
  })
})

describe('the error that a step has thrown', () => {
  it.each(callers)(
    'of %s is judged where the call is made, not by what the journal kept',
    async (name, call) => {
      const { url } = await statusServer(404)
      const error = await failureOf(call(url))
      // The others have the status in the response only, which is nothing that a journal could keep.
      const isKept = name === 'axios' || name === 'undici'
      expect(isPermanentHttpError(decodeError(encodeError(error)))).toBe(isKept)
    },
  )
})
