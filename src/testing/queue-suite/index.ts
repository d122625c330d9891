/** The conformance suite: what every queue adapter must do. */
import { endTests } from './ends.ts'
import { handlingTests } from './handling.ts'
import { identityTests } from './identity.ts'
import { type QueueAdapterSuiteOptions, queueSuiteOf } from './suite.ts'

export type { OpenQueue, QueueAdapterSuiteOptions } from './suite.ts'

/**
 * Registers the tests that every queue adapter must pass. It depends on no test runner: pass the `describe` and `test` of
 * yours. Runs in real time, since a queue may live in a server; no test takes longer than a few seconds.
 *
 * @example
 * queueAdapterSuite({
 *   describe,
 *   test,
 *   oneProcess: true,
 *   async open() {
 *     return { queue: createQueueAdapter('local'), dispose: async () => {} }
 *   },
 * })
 */
export function queueAdapterSuite(options: QueueAdapterSuiteOptions): void {
  const suite = queueSuiteOf(options)
  identityTests(suite)
  handlingTests(suite)
  endTests(suite)
}
