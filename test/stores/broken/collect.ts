import { type StoreSuiteOptions, storeSuite } from '../../../src/testing/store-suite/index.ts'

/** One test of the suite, not run yet. */
export interface CollectedTest {
  readonly name: string
  readonly body: () => Promise<void>
}

/** The tests of the suite for this factory, without a runner. */
export function collect(open: StoreSuiteOptions['open']): readonly CollectedTest[] {
  const tests: CollectedTest[] = []
  const groups: string[] = []
  storeSuite({
    describe(name, body) {
      groups.push(name)
      body()
      groups.pop()
    },
    test(name, body) {
      tests.push({ name: [...groups, name].join(' > '), body })
    },
    open,
  })
  return tests
}

/** The names of the tests that fail. */
export async function failures(tests: readonly CollectedTest[]): Promise<readonly string[]> {
  const failed: string[] = []
  for (const { name, body } of tests) {
    await body().catch(() => failed.push(name))
  }
  return failed
}
