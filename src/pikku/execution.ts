import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { StepClaimError } from './errors.ts'
import type { Held } from './holdings.ts'

/**
 * One execution of a step job or of a run's tick. Pikku hands over nothing but the id of a step when it reports a result;
 * whose result it is follows from here.
 */
export class Execution {
  readonly token: string = randomUUID()
  readonly runId: string
  /** Whether it executes a step that came through a queue. */
  readonly viaQueue: boolean
  /** The attempts that this execution has claimed, by id, and the numbers of the claims. */
  readonly claims: Map<string, number> = new Map()
  /** The claim on the run's record that stands for its lock, while this execution has it. */
  lock: Held | null = null
  /** Whether it has claimed anything at all. */
  hasClaimed = false
  /** Whether this execution has brought its run to an end. */
  hasEnded = false
  /** Why it must write nothing more. */
  refusal: StepClaimError | null = null

  readonly #starts = new Map<string, number>()

  constructor(runId: string, viaQueue: boolean) {
    this.runId = runId
    this.viaQueue = viaQueue
  }

  /**
   * Which of several steps that look alike starts the next child: each of them once, in an order that is the same when all
   * is done again.
   */
  nextOf(stepIds: readonly string[]): string | null {
    const [next] = [...stepIds].sort((a, b) => this.#startsOf(a) - this.#startsOf(b) || (a < b ? -1 : 1))
    if (next === undefined) return null
    this.#starts.set(next, this.#startsOf(next) + 1)
    return next
  }

  #startsOf(stepId: string): number {
    return this.#starts.get(stepId) ?? 0
  }

  /** Ends the part that this execution has in anything. */
  refuse(code: StepClaimError['code'], message: string): StepClaimError {
    this.refusal ??= new StepClaimError(code, this.runId, message)
    return this.refusal
  }
}

const current = new AsyncLocalStorage<Execution>()

/** The execution that the calling code belongs to. */
export function currentExecution(): Execution | null {
  return current.getStore() ?? null
}

export async function within<Value>(execution: Execution, call: () => Promise<Value>): Promise<Value> {
  return await current.run(execution, call)
}
