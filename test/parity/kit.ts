import { onTestFinished } from 'vitest'
import type { Engine, EngineOptions } from '../../src/engine/api.ts'
import { createEngine } from '../../src/engine/engine.ts'
import type { Notifier } from '../../src/ports/notifier.ts'
import type { EngineEvent } from '../../src/ports/observer.ts'
import { createTestEngine, type TestEngine, type TestEngineOptions } from '../../src/testing/test-engine.ts'
import { silentLog } from '../../src/testing/virtual-time.ts'

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** An engine on virtual time that is closed after the test. */
export async function testEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  const test = await createTestEngine({ patience: 5, ...options })
  onTestFinished(() => test.close())
  return test
}

/** The same, but never closed: its process dies in the test. */
export async function mortalEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  return await createTestEngine({ patience: 5, ...options })
}

/** An engine of real time that works, polls often, and is closed after the test. */
export async function realEngine(options: EngineOptions, concurrency = 100): Promise<Engine> {
  const engine = createEngine({ log: silentLog, pollInterval: 10, ...options })
  onTestFinished(() => engine.close({ timeout: 0 }))
  await engine.work({ concurrency })
  return engine
}

/** Something that one part of a test waits for and another tells. */
export interface Signal<Value = void> {
  readonly promise: Promise<Value>
  readonly send: (value: Value) => void
}

export function signal<Value = void>(): Signal<Value> {
  let send: (value: Value) => void = () => {}
  const promise = new Promise<Value>((resolve) => {
    send = resolve
  })
  return { promise, send }
}

/** A body that always fails. */
export function failing(error: unknown): () => never {
  return () => {
    throw error
  }
}

/** What a promise is rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => {
      throw new Error('It was not rejected.')
    },
    (error: unknown) => error,
  )
}

/** The message of an error, or the code. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : `no error: ${String(error)}`
}

export function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | null)?.code
}

/** The bodies that were called, with their attempts. */
export function called(test: TestEngine): string[] {
  return test.bodies.map(({ key, attempt }) => `${key} ${attempt}`)
}

/** A notifier that never says anything. */
export function muteNotifier(): Notifier {
  return { publish: () => {}, subscribe: () => () => {}, close: async () => {} }
}

/** Collects what an engine tells its observer. */
export function recorder(): {
  readonly events: EngineEvent[]
  readonly observer: (event: EngineEvent) => void
} {
  const events: EngineEvent[] = []
  return { events, observer: (event) => void events.push(event) }
}

/** Lets everything happen that needs no time. */
export async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve))
}

/** Fails the test for every rejection that nobody handles. */
export function unhandled(): readonly unknown[] {
  const seen: unknown[] = []
  const note = (reason: unknown): void => void seen.push(reason)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  return seen
}
