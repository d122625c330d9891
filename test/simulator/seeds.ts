import { expect, it } from 'vitest'
import { formatViolations, type SimulationOptions, simulate } from '../../src/testing/simulator/index.ts'

/** Simulates these seeds one by one. The first that violates an invariant fails the test, and says how to rerun it. */
export function itHoldsFor(from: number, count: number): void {
  it(`holds for seeds ${from} to ${from + count - 1}`, { timeout: 300_000 }, async () => {
    for (let seed = from; seed < from + count; seed += 1) {
      const simulation = await simulate({ seed })
      if (simulation.violations.length > 0) expect.fail(formatViolations(simulation))
    }
  })
}

/** The names of the invariants that these seeds violate; stops at the seed that violates `wanted`. */
export async function violatedBy(
  wanted: string,
  options: Omit<SimulationOptions, 'seed'>,
  seeds: number,
): Promise<ReadonlySet<string>> {
  const violated = new Set<string>()
  for (let seed = 1; seed <= seeds && !violated.has(wanted); seed += 1) {
    const { violations } = await simulate({ ...options, seed })
    for (const { invariant } of violations) violated.add(invariant)
  }
  return violated
}
