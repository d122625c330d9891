import { describe } from '../core/describe.ts'
import type { Played } from './crash-world.ts'
import type { RunResult } from './run-result.ts'
import type { StoreMethod } from './wrap-store.ts'

/** One run with a crash. */
export interface Cut {
  /** The number of the call of the store, from 0. */
  readonly call: number
  /** `after`: the call was applied, but its answer never came. */
  readonly side: 'before' | 'after'
  readonly method: StoreMethod
  /** Whether the run came to this point again; if not, nothing was cut off. */
  readonly reached: boolean
  /** Where it was, in words. */
  readonly at: string
  readonly result: RunResult
  /** How often each step body, and each counted side effect, happened. */
  readonly effects: ReadonlyMap<string, number>
  /** What came out otherwise than without the crash, one sentence each. */
  readonly differences: readonly string[]
}

/** A side effect that some crash repeats. */
export interface Repeated {
  /** The step, or the name of the counter. */
  readonly name: string
  /** How often it happens without a crash. */
  readonly usual: number
  /** How often at the worst cut. */
  readonly most: number
  /** The cuts at which it happens more often than usual. */
  readonly cuts: readonly Cut[]
}

/** What `crashEverywhere` found. */
export class CrashReport {
  readonly workflow: string
  /** The run without a crash. */
  readonly baseline: RunResult
  readonly cuts: readonly Cut[]
  /** How often each step body, and each counted side effect, happened without a crash. */
  readonly effects: ReadonlyMap<string, number>

  constructor(workflow: string, baseline: Played, cuts: readonly Cut[]) {
    this.workflow = workflow
    this.baseline = baseline.result
    this.effects = baseline.effects
    this.cuts = cuts
  }

  /** The cuts after which the run came out otherwise. */
  get unsound(): readonly Cut[] {
    return this.cuts.filter((cut) => cut.differences.length > 0)
  }

  /**
   * The side effects that would happen more often than without a crash. A step body is repeated if the process
   * dies after it ended and before that was recorded: no journal can prevent it, an idempotency key makes it harmless.
   * Anything that is repeated at many cuts is not in a step.
   */
  get repeated(): readonly Repeated[] {
    const names = new Set(this.cuts.flatMap((cut) => [...cut.effects.keys()]))
    return [...names].flatMap((name) => {
      const usual = this.effects.get(name) ?? 0
      const cuts = this.cuts.filter(({ effects }) => (effects.get(name) ?? 0) > usual)
      if (cuts.length === 0) return []
      return [{ name, usual, most: Math.max(...cuts.map(({ effects }) => effects.get(name) ?? 0)), cuts }]
    })
  }

  /** Throws, with a text that says where, unless every run came out like the one without a crash. */
  assertSound(): void {
    const { status, error } = this.baseline
    if (status === 'paused') {
      throw new Error(`Even without a crash, the run of "${this.workflow}" was paused: ${describe(error)}`)
    }
    if (status !== 'completed' && status !== 'failed' && status !== 'cancelled') {
      throw new Error(
        `Without a crash, the run of "${this.workflow}" was left ${status}: nothing was due any more. Let \`drive\` do ` +
          'what it waits for.',
      )
    }
    if (this.unsound.length > 0) throw new Error(this.toString())
  }

  /** The whole report, for people. */
  toString(): string {
    return [this.#summary(), ...this.#describeUnsound(), ...this.#describeRepeated()].join('\n')
  }

  #summary(): string {
    const { length } = this.cuts
    const { status } = this.baseline
    const start = `"${this.workflow}" was cut off at ${length} points`
    if (this.unsound.length === 0) return `${start}; it was always ${status} as without a crash.`
    return `${start}; at ${this.unsound.length} of them it did not come out as without a crash (${status}):`
  }

  #describeUnsound(): string[] {
    const shown = this.unsound.slice(0, MAX_SHOWN)
    const lines = shown.flatMap(({ at, differences }) => [
      `  ${at}`,
      ...differences.map((difference) => `    ${difference}`),
    ])
    return [...lines, ...andMore(this.unsound.length)]
  }

  #describeRepeated(): string[] {
    if (this.repeated.length === 0) return ['No side effect would happen more often than without a crash.']
    const lines = this.repeated.map(({ name, usual, most, cuts }) => {
      const where = cuts.length === 1 ? cuts.map(({ at }) => at).join() : `at ${cuts.length} points`
      return `  ${name}: ${most} times instead of ${usual} (${where})`
    })
    return ['Side effects that would happen more often (make them idempotent):', ...lines]
  }
}

/** More cuts than this are only counted. */
const MAX_SHOWN = 10

function andMore(count: number): string[] {
  return count > MAX_SHOWN ? [`  … and ${count - MAX_SHOWN} more`] : []
}
