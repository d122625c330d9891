/** The conformance suite: what every store must do, one file per verb. */
import { advanceTests } from './advance.ts'
import { advanceEndTests } from './advance-end.ts'
import { advanceParkTests } from './advance-park.ts'
import { advanceTogetherTests } from './advance-together.ts'
import { cancelTests } from './cancel.ts'
import { claimTests } from './claim.ts'
import { concurrencyTests } from './concurrency.ts'
import { controlTests } from './control.ts'
import { createTests } from './create.ts'
import { deliverTests } from './deliver.ts'
import { journalTests } from './journal.ts'
import { leaseTests } from './lease.ts'
import { lifecycleTests } from './lifecycle.ts'
import { listTests } from './list.ts'
import { namesAndValuesTests } from './names-and-values.ts'
import { pauseTests } from './pause.ts'
import { pruneTests } from './prune.ts'
import { readTests } from './reads.ts'
import { type StoreSuiteOptions, suiteOf } from './suite.ts'

export type { OpenStore, RegisterTest, StoreSuiteOptions } from './suite.ts'

/**
 * Registers the tests that every store must pass. It depends on no test runner: pass the `describe` and
 * `test` of yours. Assertions are those of `node:assert/strict`.
 *
 * @example
 * import { describe, test } from 'vitest'
 *
 * storeSuite({
 *   describe,
 *   test,
 *   async open() {
 *     const data = new MemoryData()
 *     const store = memory({ data })
 *     return { store, reopen: async () => memory({ data }), dispose: () => store.close() }
 *   },
 * })
 */
export function storeSuite(options: StoreSuiteOptions): void {
  const suite = suiteOf(options)
  createTests(suite)
  claimTests(suite)
  advanceTests(suite)
  advanceParkTests(suite)
  advanceEndTests(suite)
  advanceTogetherTests(suite)
  deliverTests(suite)
  controlTests(suite)
  cancelTests(suite)
  pauseTests(suite)
  leaseTests(suite)
  readTests(suite)
  journalTests(suite)
  listTests(suite)
  pruneTests(suite)
  namesAndValuesTests(suite)
  concurrencyTests(suite)
  lifecycleTests(suite)
}
