import { onTestFinished } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { createTestEngine, type TestEngine, type TestEngineOptions } from '../../src/testing/test-engine.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'

/** What the tests of the deferred-work runner's place on the engine share. */

export { freshStores as stores } from './stores.ts'

/** A test engine that is closed after the test. Bodies that hang do so on purpose: a few real ms show it. */
export async function engineFor(options: TestEngineOptions): Promise<TestEngine> {
  const test = await createTestEngine({ patience: 5, keepStoreOpen: true, ...options })
  onTestFinished(() => shutDown(test))
  return test
}

/** Closes an engine, with time going on, so that it need not wait for a body that hangs. */
export async function shutDown({ engine, time }: TestEngine): Promise<void> {
  let closed = false
  const closing = engine.close({ timeout: 0 }).finally(() => {
    closed = true
  })
  while (!closed) {
    await time.advance(1)
    await realTurn()
  }
  await closing
}

export interface MortalEngine {
  readonly test: TestEngine
  readonly die: () => void
}

/** An engine of a process that can die: from then on, nothing that it asks the store for is done or answered. */
export async function mortalEngine(
  options: TestEngineOptions & { readonly store: Store },
): Promise<MortalEngine> {
  let dead = false
  const never = new Promise<never>(() => {})
  const store = wrapStore(options.store, (_method, call) => (dead ? never : call()))
  const test = await createTestEngine({ patience: 5, ...options, store })
  const die = (): void => {
    dead = true
  }
  return { test, die }
}

export interface Gate {
  readonly opened: Promise<void>
  readonly open: () => void
}

/** Something to wait for that only the test can make happen. */
export function gate(): Gate {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/** A turn of the event loop: real time, as code without steps takes it. */
export function realTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
