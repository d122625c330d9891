import { isDeepStrictEqual } from 'node:util'
import { decodeValue } from '../core/codec.ts'
import { describe } from '../core/describe.ts'
import { decodeError } from '../core/error-codec.ts'
import type { Entry, EntryKind, RunStatus } from '../core/run.ts'
import { displayKey, LAST_SAVE_KEY } from '../core/step-names.ts'
import type { RunJournal } from '../ports/store.ts'

/** The outcome of one step, as the journal holds it. */
export interface StepResult {
  /** The journal key: its name, with `#2` and so on for repeated names. */
  readonly key: string
  readonly kind: EntryKind
  readonly status: 'succeeded' | 'failed'
  /** What it returned. `undefined` for the values of `now()`, `random()` and `uuid()`, which may differ. */
  readonly value: unknown
  readonly error: unknown
}

/** How a run came out. */
export interface RunResult {
  /** `missing` if there is no such run. */
  readonly status: RunStatus | 'missing'
  readonly output: unknown
  readonly error: unknown
  /** In the order in which the function was given them; those that nobody waited for come last. */
  readonly outcomes: readonly StepResult[]
}

/** Reads how a run came out. */
export function resultOf({ run, entries }: RunJournal): RunResult {
  if (run === null) return { status: 'missing', output: undefined, error: undefined, outcomes: [] }
  return {
    status: run.status,
    output: run.output === null ? undefined : decodeValue(run.output),
    error: run.error === null ? undefined : decodeError(run.error),
    outcomes: entries
      // The place of the newest save matters to a replay only.
      .filter(({ key }) => key !== LAST_SAVE_KEY)
      .filter(({ epoch, kind }) => epoch === run.epoch || kind === 'checkpoint')
      .sort(inOrder)
      .flatMap((entry) => stepResult(entry) ?? []),
  }
}

/** What differs between two results; one sentence each. The order of outcomes does not count. */
export function differences(expected: RunResult, actual: RunResult): string[] {
  if (actual.status !== expected.status) {
    const why = actual.error === undefined ? '' : ` (${describe(actual.error)})`
    return [`The run ended as ${actual.status}${why} instead of ${expected.status}.`]
  }
  const found: string[] = []
  if (!isSame(actual.output, expected.output)) {
    found.push(`It returned ${show(actual.output)} instead of ${show(expected.output)}.`)
  }
  if (!isSame(actual.error, expected.error)) {
    found.push(`Its error is ${describe(actual.error)} instead of ${describe(expected.error)}.`)
  }
  // A cancel, or the end of the time, hits a run wherever it is: which steps it still had differs.
  if (actual.outcomes.some(({ kind }) => kind === 'interrupt')) return found
  return [...found, ...stepDifferences(expected.outcomes, actual.outcomes)]
}

function stepDifferences(expected: readonly StepResult[], actual: readonly StepResult[]): string[] {
  const wanted = new Map(expected.map((outcome) => [outcome.key, outcome]))
  const found: string[] = []
  for (const outcome of actual) {
    const other = wanted.get(outcome.key)
    wanted.delete(outcome.key)
    if (other === undefined) found.push(`Step "${displayKey(outcome.key)}" has an outcome that it had not.`)
    else if (!isSame(outcome, other)) {
      found.push(`Step "${displayKey(outcome.key)}" ${showStep(outcome)}; before, it ${showStep(other)}.`)
    }
  }
  for (const key of wanted.keys()) found.push(`Step "${displayKey(key)}" has no outcome.`)
  return found
}

function inOrder(a: Entry, b: Entry): number {
  if (a.order !== null && b.order !== null) return a.order - b.order
  if (a.order !== null || b.order !== null) return a.order === null ? 1 : -1
  return a.key < b.key ? -1 : 1
}

function stepResult({ key, kind, status, value }: Entry): StepResult | null {
  if (status !== 'succeeded' && status !== 'failed') return null
  const readable = kind !== 'value' && kind !== 'interrupt' && value !== null
  return {
    key,
    kind,
    status,
    value: readable && status === 'succeeded' ? decodeValue(value) : undefined,
    error: readable && status === 'failed' ? decodeError(value) : undefined,
  }
}

/** Deep equality, for which stacks of errors and ids of runs in their messages do not count. */
function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(comparable(a), comparable(b))
}

function comparable(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return depth > 0 ? withoutIds(value) : value
  if (depth > 10 || typeof value !== 'object' || value === null) return value
  const parts = value instanceof Error ? partsOf(value) : value
  if (Object.getPrototypeOf(parts) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(parts).map(([key, part]) => [key, comparable(part, depth + 1)]))
}

function partsOf(error: Error): object {
  const { name, message, cause } = error
  return { ...error, name, message, cause }
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** A child that is started again after a crash has another id, which messages name. */
function withoutIds(text: string): string {
  return text.replaceAll(uuid, '…')
}

function showStep({ status, value, error }: StepResult): string {
  if (status === 'failed') return `failed with ${describe(error)}`
  return value === undefined ? 'succeeded' : `returned ${show(value)}`
}

function show(value: unknown): string {
  const text = describe(value)
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
