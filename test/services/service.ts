import { inject, TestRunner } from 'vitest'
import type { Answer, ServiceName } from './broker.ts'

/**
 * The URL of a service that all tests of this run share; it is started when the first of them asks. Call it in a test or
 * in `beforeEach`: where the service cannot be had, the test is skipped, or fails if `CI` is set.
 */
export async function service(name: ServiceName): Promise<string> {
  const answer = await ask(name)
  if ('url' in answer) return answer.url
  TestRunner.getCurrentTest()?.context.skip(answer.missing)
  throw new Error(answer.missing)
}

/**
 * The same for the top level of a test file: `null` where the service cannot be had.
 *
 * @example
 * const url = await serviceOrSkip('postgres')
 * describe.skipIf(url === null)('the PostgreSQL store', …)
 */
export async function serviceOrSkip(name: ServiceName): Promise<string | null> {
  const answer = await ask(name)
  return 'url' in answer ? answer.url : null
}

async function ask(name: ServiceName): Promise<Answer> {
  const response = await fetch(`${inject('serviceBroker')}/${name}`)
  const answer: Answer = JSON.parse(await response.text())
  // Where nobody watches, a test that is left out would go unnoticed.
  if ('missing' in answer && process.env['CI']) throw new Error(answer.missing)
  return answer
}
