import { describe, expect, it } from 'vitest'
import {
  formatTrace,
  formatViolations,
  invariants,
  NO_FAULTS,
  simulate,
} from '../../src/testing/simulator/index.ts'

describe('the simulator', () => {
  it('gives the same trace for the same seed, and another for another', async () => {
    for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const first = await simulate({ seed })
      const second = await simulate({ seed })
      expect(second.digest).toBe(first.digest)
      expect(formatTrace(second.trace)).toBe(formatTrace(first.trace))
    }
    expect((await simulate({ seed: 1 })).digest).not.toBe((await simulate({ seed: 2 })).digest)
  })

  it('loses no execution when nothing fails', async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { trace, violations } = await simulate({ seed, faults: NO_FAULTS })
      expect(violations).toEqual([])
      expect(trace.filter((event) => event.type === 'execution-lost')).toEqual([])
      expect(trace.filter((event) => event.type === 'process' && event.what !== 'started')).toEqual([])
    }
  })

  it('makes everything happen that it is for', async () => {
    const seen = new Set<string>()
    for (let seed = 1; seed <= 40; seed += 1) {
      for (const event of (await simulate({ seed })).trace) {
        if (event.type === 'process') seen.add(event.what)
        if (event.type === 'stored') seen.add(`${event.cause} ${event.run.status}`)
        if (event.type === 'refused') seen.add(event.why)
        if (event.type === 'execution-started') seen.add(event.how)
      }
    }
    const processes = ['started', 'crashed', 'frozen', 'thawed', 'closing', 'closed']
    const ends = ['advance completed', 'advance failed', 'advance cancelled', 'cancel cancelled']
    const others = ['reap pending', 'claim running', 'pause paused', 'revive pending', 'deliver waiting']
    const wanted = [...processes, ...ends, ...others, 'hot', 'cold', 'fenced', 'existing', 'duplicate']
    expect([...seen]).toEqual(expect.arrayContaining(wanted))
  })

  it('says what is wrong, where, and how to run it again', async () => {
    const simulation = await simulate({ seed: 7 })
    const violations = [{ invariant: 'an example', message: 'it went wrong', positions: [0] }]
    const text = formatViolations({ ...simulation, violations })
    expect(text).toContain('an example: it went wrong')
    expect(text).toContain('npm run sim -- --seed 7 --trace')
    expect(text).toContain('started')
  })

  it('has a name and a sentence for every invariant', () => {
    expect(new Set(invariants.map(({ name }) => name)).size).toBe(invariants.length)
    for (const { about } of invariants) expect(about).toMatch(/^[A-Z].*\.$/)
  })
})
