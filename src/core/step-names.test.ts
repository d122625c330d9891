import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkpointKey, displayKey, INTERRUPT_KEY, idempotencyKey, StepNames } from './step-names.ts'

/** Names that try to be taken for keys. */
const names = fc.oneof(
  fc.string({ unit: fc.constantFrom('#', 'a', '2', '3', ':'), minLength: 1, maxLength: 6 }),
  fc.constantFrom('#interrupt', '#checkpoint:a', 'interrupt', 'checkpoint:a', '__proto__', 'a#2'),
)

describe('StepNames', () => {
  it('numbers the uses of a name after the first', () => {
    const steps = new StepNames()
    expect(['a', 'a', 'b', 'a'].map((name) => steps.next(name))).toEqual(['a', 'a#2', 'b', 'a#3'])
  })

  it('doubles # in names, so that none looks like a second use', () => {
    const steps = new StepNames()
    expect(['a', 'a', 'a#2', 'a#2', '#'].map((name) => steps.next(name))).toEqual([
      'a',
      'a#2',
      'a##2',
      'a##2#2',
      '##',
    ])
  })

  it('starts anew for each execution, and gives the same keys for the same calls', () => {
    fc.assert(
      fc.property(fc.array(names), (calls) => {
        const [first, second] = [new StepNames(), new StepNames()]
        expect(calls.map((name) => first.next(name))).toEqual(calls.map((name) => second.next(name)))
      }),
    )
  })

  it('never gives two operations the same key, nor one of the engine', () => {
    fc.assert(
      fc.property(fc.array(names, { maxLength: 40 }), fc.array(names), (calls, checkpoints) => {
        const steps = new StepNames()
        const keys = calls.map((name) => steps.next(name))
        const engineKeys = [INTERRUPT_KEY, ...new Set(checkpoints.map(checkpointKey))]
        expect(new Set([...keys, ...engineKeys]).size).toBe(keys.length + engineKeys.length)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('displayKey', () => {
  it('turns keys back into what people wrote', () => {
    expect(displayKey('charge')).toBe('charge')
    expect(displayKey('charge#2')).toBe('charge#2')
    expect(displayKey('charge##2')).toBe('charge#2')
    expect(displayKey(checkpointKey('stage#1'))).toBe('stage#1')
    expect(displayKey(INTERRUPT_KEY)).toBe('interrupt')
  })

  it('gives back every name', () => {
    fc.assert(fc.property(names, (name) => displayKey(new StepNames().next(name)) === name))
  })
})

describe('idempotencyKey', () => {
  it('is another for every other step of every other run', () => {
    const texts = fc.string({ unit: fc.constantFrom('a', ':', '%', '#', 'é', '/'), maxLength: 6 })
    fc.assert(
      fc.property(texts, texts, texts, texts, (runA, stepA, runB, stepB) => {
        const same = runA === runB && stepA === stepB
        expect(idempotencyKey(runA, stepA) === idempotencyKey(runB, stepB)).toBe(same)
      }),
    )
  })
})
