import { onTestFinished } from 'vitest'
import { isPerdureError } from '../../src/core/errors.ts'
import type { Store } from '../../src/ports/store.ts'
import { createTestEngine, type TestEngine, type TestEngineOptions } from '../../src/testing/test-engine.ts'

/** What no name, key or id may be, and why. */
export const badNames: readonly (readonly [string, unknown])[] = [
  ['empty', ''],
  ['a space', ' '],
  ['a tab', '\t'],
  ['line ends', '\r\n'],
  ['null', null],
  ['0', 0],
  ['a number', 7],
  ['false', false],
  ['an object', {}],
  ['a list', ['name']],
  ['with NUL', 'a\0b'],
  ['with half a surrogate pair', 'a\ud800'],
  ['too long', 'x'.repeat(1025)],
]

/** What no duration may be. */
export const badDurations: readonly (readonly [string, unknown])[] = [
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['negative', -1],
  ['negative text', '-1s'],
  ['empty', ''],
  ['without a unit', '30'],
  ['an unknown unit', '1 fortnight'],
  ['two numbers', '1 2s'],
  ['null', null],
  ['true', true],
  ['an object', { seconds: 1 }],
  ['a Date', new Date(0)],
]

/** What no count may be. */
export const badCounts: readonly (readonly [string, unknown])[] = [
  ['zero', 0],
  ['negative', -1],
  ['a fraction', 1.5],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['text', '5'],
  ['null', null],
  ['an object', {}],
]

/** A message that says something is a sentence. */
const sentence = /^\S.{15,}$/s

/** The code of the error that a call is refused with, once it is known to be a clear one. */
export async function refusal(call: () => unknown): Promise<string> {
  let returned: Promise<unknown>
  try {
    returned = Promise.resolve(call())
  } catch (error) {
    return codeOf(error)
  }
  return await returned.then(() => 'accepted', codeOf)
}

/** The same for a call that returns a promise: it must never throw instead. */
export async function rejection(call: () => Promise<unknown>): Promise<string> {
  let promise: Promise<unknown>
  try {
    promise = call()
  } catch (error) {
    return `thrown at once: ${codeOf(error)}`
  }
  return await promise.then(() => 'accepted', codeOf)
}

function codeOf(error: unknown): string {
  if (!isPerdureError(error)) return `no error of this package: ${String(error)}`
  if (!sentence.test(error.message)) return `no sentence: ${error.message}`
  return error.code
}

/** A test engine that is closed after the test. */
export async function engineFor(options: TestEngineOptions): Promise<TestEngine> {
  const test = await createTestEngine({ patience: 5, keepStoreOpen: true, ...options })
  onTestFinished(() => test.close())
  return test
}

/** All that a store holds, to be compared. */
export async function contents(store: Store): Promise<unknown> {
  const { runs } = await store.listRuns({ limit: 1000 })
  return await store.journal(
    runs.map(({ id }) => id),
    { entries: true },
  )
}

/** Whatever a test needs to call with arguments that the types do not allow. */
export function untyped<Value>(value: unknown): Value {
  return value as Value
}
