import { describe, expect, it } from 'vitest'
import { describe as describeThrown, errorBrand } from './describe.ts'
import * as errors from './errors.ts'
import { MAX_ERROR_MESSAGE } from './limits.ts'

/** One instance of every class that has a code of its own, and that code. */
const instances: readonly (readonly [errors.PerdureError, string])[] = [
  [new errors.InvalidArgumentError('m'), 'INVALID_ARGUMENT'],
  [new errors.InvalidDurationError('m'), 'INVALID_DURATION'],
  [new errors.InvalidNameError('m'), 'INVALID_NAME'],
  [new errors.InvalidInputError('m'), 'INVALID_INPUT'],
  [new errors.UnserializableValueError('m'), 'UNSERIALIZABLE_VALUE'],
  [new errors.ValueTooLargeError('m'), 'VALUE_TOO_LARGE'],
  [new errors.JournalLimitError('m'), 'JOURNAL_LIMIT'],
  [new errors.UnknownWorkflowError('m'), 'UNKNOWN_WORKFLOW'],
  [new errors.DuplicateWorkflowError('m'), 'DUPLICATE_WORKFLOW'],
  [new errors.RunNotFoundError('id'), 'RUN_NOT_FOUND'],
  [new errors.RunStateError('m'), 'RUN_STATE'],
  [new errors.RunConflictError('m', 'id'), 'RUN_CONFLICT'],
  [new errors.NonDeterminismError('m'), 'NON_DETERMINISM'],
  [new errors.RunFailedError('id', 'order', new Error('m')), 'RUN_FAILED'],
  [new errors.RunCancelledError('m'), 'RUN_CANCELLED'],
  [new errors.ChildCancelledError('m', 'id'), 'CHILD_CANCELLED'],
  [new errors.StepTimeoutError('m'), 'STEP_TIMEOUT'],
  [new errors.RunTimeoutError('m'), 'RUN_TIMEOUT'],
  [new errors.WaitTimeoutError('m'), 'WAIT_TIMEOUT'],
  [new errors.StepInterruptedError('m'), 'STEP_INTERRUPTED'],
  [new errors.NestedStepError('m'), 'NESTED_STEP'],
  [new errors.PoisonedRunError('m'), 'POISONED_RUN'],
  [new errors.ClaimLostError('m'), 'CLAIM_LOST'],
  [new errors.EngineClosedError('m'), 'ENGINE_CLOSED'],
  [new errors.StoreError('full', 'm'), 'STORE_FULL'],
  [new errors.PermanentError('m'), 'PERMANENT'],
  [new errors.RetryAfterError('1s', 'm'), 'RETRY_AFTER'],
]

const named = instances.map(([error, code]) => [error.constructor.name, error, code] as const)

describe('every error of the package', () => {
  it('is listed in this file', () => {
    const classes = Object.entries(errors)
      .filter(([, each]) => typeof each === 'function' && each.prototype instanceof errors.PerdureError)
      .map(([name]) => name)
    expect(named.map(([name]) => name).sort()).toEqual(classes.sort())
  })

  it('has a code of its own', () => {
    expect(new Set(instances.map(([error]) => error.code)).size).toBe(instances.length)
  })

  it.each(named)('%s keeps its code', (_, error, code) => {
    expect(error.code).toBe(code)
  })

  it.each(named)('%s is called like its class', (name, error) => {
    expect(error.name).toBe(name)
  })

  it.each(named)('%s is an Error of this package', (_, error) => {
    expect(error).toBeInstanceOf(errors.PerdureError)
  })

  it.each(named)('%s carries the brand', (_, error) => {
    expect(errors.isPerdureError(error)).toBe(true)
  })
})

describe('PerdureError', () => {
  it('keeps its cause', () => {
    const cause = new Error('inner')
    expect(new errors.PerdureError('X', 'm', { cause }).cause).toBe(cause)
  })

  it('keeps null as a cause', () => {
    expect(new errors.PerdureError('X', 'm', { cause: null }).cause).toBeNull()
  })

  it('has no cause of its own if none was given', () => {
    expect(Object.hasOwn(new errors.PerdureError('X', 'm', { cause: undefined }), 'cause')).toBe(false)
  })

  it('gives a class that users derive that class’s name', () => {
    class CardRefused extends errors.PermanentError {}
    expect(new CardRefused('no').name).toBe('CardRefused')
  })

  it('hides its brand from whoever lists or copies its fields', () => {
    const copy = { ...new errors.PermanentError('m') }
    expect(errorBrand in copy).toBe(false)
  })
})

describe('isPerdureError', () => {
  it('knows an error of another copy of the package', () => {
    const foreign = Object.assign(new Error('m'), { [Symbol.for('perdure.error')]: true })
    expect(errors.isPerdureError(foreign)).toBe(true)
  })

  it.each([[new Error('m')], [{ code: 'PERMANENT' }], [null], [undefined], ['PERMANENT'], [() => {}]])(
    'is not taken in by %s',
    (value) => {
      expect(errors.isPerdureError(value)).toBe(false)
    },
  )
})

describe('what errors carry', () => {
  it.each<[string, errors.PerdureError, object]>([
    [
      'the issues of an input',
      new errors.InvalidInputError('m', [{ path: 'a' }]),
      { issues: [{ path: 'a' }] },
    ],
    ['no issues if there are none', new errors.InvalidInputError('m'), { issues: [] }],
    ['the run that holds a key', new errors.RunConflictError('m', 'run-7'), { runId: 'run-7' }],
    ['the child that was cancelled', new errors.ChildCancelledError('m', 'run-7'), { runId: 'run-7' }],
    ['the reason of a cancel', new errors.RunCancelledError('m', 'why'), { reason: 'why' }],
    ['that it is permanent', new errors.PermanentError('m'), { permanent: true }],
    ['the delay as it was given', new errors.RetryAfterError('30s'), { retryAfter: '30s' }],
    ['a default message about a delay', new errors.RetryAfterError(5), { message: 'Try again later.' }],
    ['advice once the engine is closed', new errors.EngineClosedError(), { code: 'ENGINE_CLOSED' }],
  ])('%s', (_, error, fields) => {
    expect(error).toMatchObject(fields)
  })

  it('the id that no run has, quoted', () => {
    expect(new errors.RunNotFoundError('a "b"').message).toContain('No run has the id "a \\"b\\""')
  })

  it('what a run failed with, in its message', () => {
    expect(new errors.RunFailedError('run-7', 'order', new TypeError('x is null')).message).toBe(
      'Run run-7 of workflow "order" failed: TypeError: x is null',
    )
  })

  it('what a run failed with, as its cause', () => {
    expect(new errors.RunFailedError('run-7', 'order', 'text').cause).toBe('text')
  })

  it.each<[errors.StoreFailure, string]>([
    ['unavailable', 'STORE_UNAVAILABLE'],
    ['full', 'STORE_FULL'],
    ['read-only', 'STORE_READ_ONLY'],
    ['corrupt', 'STORE_CORRUPT'],
    ['newer-schema', 'STORE_NEWER_SCHEMA'],
    ['missing-driver', 'STORE_MISSING_DRIVER'],
  ])('what it means that a store is %s', (failure, code) => {
    expect(new errors.StoreError(failure, 'm')).toMatchObject({ failure, code })
  })
})

describe('describe', () => {
  it.each<[string, unknown, string]>([
    ['an error', new TypeError('x is null'), 'TypeError: x is null'],
    ['an error without a message', new Error(), 'Error: '],
    ['text', 'plain', 'plain'],
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a number', 42, '42'],
    ['a symbol', Symbol('x'), 'Symbol(x)'],
    ['a record', { code: 7 }, '{"code":7}'],
    ['a record that is undefined as JSON', { toJSON() {} }, '[object Object]'],
  ])('shows %s', (_, thrown, expected) => {
    expect(describeThrown(thrown)).toBe(expected)
  })

  it.each<[string, () => unknown]>([
    ['a text', () => 'x'.repeat(50_000)],
    ['the message of an error', () => new Error('x'.repeat(50_000))],
    ['a record', () => ({ field: 'x'.repeat(50_000) })],
  ])('cuts %s that is long', (_, make) => {
    expect(describeThrown(make())).toHaveLength(MAX_ERROR_MESSAGE)
  })

  it.each<[string, () => unknown]>([
    [
      'a cycle',
      () => {
        const thrown: Record<string, unknown> = {}
        thrown['self'] = thrown
        return thrown
      },
    ],
    [
      'a revoked proxy',
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {})
        revoke()
        return proxy
      },
    ],
    [
      'a message that throws',
      () =>
        Object.defineProperty(new Error('x'), 'message', {
          get() {
            throw new Error('no')
          },
        }),
    ],
  ])('never throws, not at %s either', (_, make) => {
    expect(describeThrown(make())).toBe('something that cannot be read')
  })
})
