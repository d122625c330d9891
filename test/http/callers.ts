import axios from 'axios'
import got from 'got'
import ky from 'ky'
import { Agent, interceptors, request } from 'undici'

/** One call, as a user of that client makes it; its own retries are off, since the step has them. */
export type Caller = (url: string) => Promise<unknown>

/** Rejects for statuses of 400 and more, as the interceptor of undici does where it is asked for. */
const strict = new Agent().compose(interceptors.responseError())

export const callers: readonly (readonly [string, Caller])[] = [
  ['axios', (url) => axios.get(url)],
  ['ky', (url) => ky.get(url, { retry: 0 }).json()],
  ['got', (url) => got.get(url, { retry: { limit: 0 } }).json()],
  ['undici', (url) => request(url, { dispatcher: strict })],
  ['fetch, whose response is thrown', thrown],
  ['fetch, whose response is the cause', caused],
]

async function thrown(url: string): Promise<unknown> {
  const response = await fetch(url)
  if (!response.ok) throw response
  return await response.json()
}

async function caused(url: string): Promise<unknown> {
  const response = await fetch(url)
  if (!response.ok) throw new Error('The service refused.', { cause: response })
  return await response.json()
}
