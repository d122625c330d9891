import type { Store } from '../../ports/store.ts'

/** A store on data of its own, as a test gets it. */
export interface OpenStore {
  readonly store: Store
  /** Opens the same data once more, as another process would. */
  readonly reopen?: () => Promise<Store>
  /** Closes what is still open and removes the data. Called once, also after a failed test. */
  readonly dispose: () => Promise<void>
}

/** Registers one test, as `test` of vitest and of `node:test` do. */
export interface RegisterTest {
  (name: string, body: () => Promise<void>): unknown
  /** Reports a test as skipped. Without it, a skipped test is left out after a warning. */
  readonly skip?: (name: string, body: () => Promise<void>) => unknown
}

/** What the suite needs from its caller. */
export interface StoreSuiteOptions {
  readonly describe: (name: string, body: () => void) => unknown
  readonly test: RegisterTest
  /** Opens an empty store. The suite calls `migrate` itself. */
  readonly open: () => Promise<OpenStore>
  /** What this store cannot do, each with the reason; its tests are then reported as skipped. */
  readonly cannot?: {
    /** Default: `open` returns `reopen`, and tests that model several processes run. */
    readonly reopen?: string
  }
}

/** What a test body gets. */
export interface Scenario {
  readonly store: Store
  /** Another migrated store on the same data. */
  readonly reopen: () => Promise<Store>
}

/** What the files of the suite register their tests with. */
export interface Suite {
  readonly describe: StoreSuiteOptions['describe']
  /** A test on a fresh store. */
  readonly scenario: (name: string, body: (store: Store) => Promise<void>) => void
  /** A test that needs a second process on the same data. */
  readonly shared: (name: string, body: (scenario: Scenario) => Promise<void>) => void
}

/** Turns the caller's runner and factory into what the files of the suite use. */
export function suiteOf(options: StoreSuiteOptions): Suite {
  const { describe, test, open, cannot = {} } = options
  return {
    describe,
    scenario(name, body) {
      test(name, () => run(open, ({ store }) => body(store)))
    },
    shared(name, body) {
      if (cannot.reopen === undefined) test(name, () => run(open, body))
      else skip(test, `${name} (skipped: ${cannot.reopen})`)
    },
  }
}

/** A test that does not run must never look like one that passed. */
function skip(test: RegisterTest, name: string): void {
  if (test.skip === undefined) console.warn(name)
  else test.skip(name, async () => {})
}

async function run(
  open: StoreSuiteOptions['open'],
  body: (scenario: Scenario) => Promise<void>,
): Promise<void> {
  const opened = await open()
  try {
    await opened.store.migrate()
    await body({ store: opened.store, reopen: () => reopen(opened) })
  } finally {
    await opened.dispose()
  }
}

async function reopen(opened: OpenStore): Promise<Store> {
  if (opened.reopen === undefined) {
    throw new Error(
      'open() returned no reopen. Return one, or pass cannot: { reopen: "the reason" } to skip the tests that need it.',
    )
  }
  const store = await opened.reopen()
  await store.migrate()
  return store
}
