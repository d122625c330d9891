import type { Operation, Outcome } from './operations/operation.ts'
import type { Save } from './operations/save.ts'

/** What a function that can go no further waits for. */
export interface Rest {
  /** Whether something goes on here that will let it go further. */
  readonly goesOn: boolean
  /** When the next timer is due. */
  readonly dueAt: number | null
  /** Whether it waits for no operation at all, i.e. for something that is no step. */
  readonly idle: boolean
}

/** The operations that a function has asked for and not been answered, and the outcomes that are in line for it. */
export class PendingOperations {
  readonly #operations = new Map<string, Operation>()
  /** Those that have not been told to proceed. */
  #fresh: Operation[] = []
  /** Saves in the order in which they were asked for. */
  readonly #saves: Save[] = []
  #outcomes: Outcome[] = []

  get(key: string): Operation | undefined {
    return this.#operations.get(key)
  }

  all(): Iterable<Operation> {
    return this.#operations.values()
  }

  keys(): string[] {
    return [...this.#operations.keys()]
  }

  add(operation: Operation): void {
    this.#operations.set(operation.key, operation)
    this.#fresh.push(operation)
  }

  addSave(save: Save): void {
    this.#saves.push(save)
    this.add(save)
  }

  /** The save that resolves next: first in, first out. */
  get nextSave(): Save | undefined {
    return this.#saves[0]
  }

  /** How many saves resolve before this one. */
  savesBefore(key: string): number {
    return this.#saves.findIndex((save) => save.key === key)
  }

  /** It has resolved. */
  shiftSave(): void {
    this.#saves.shift()
  }

  forget(key: string): void {
    const operation = this.#operations.get(key)
    this.#operations.delete(key)
    if (operation !== undefined && this.#fresh.length > 0) {
      this.#fresh = this.#fresh.filter((other) => other !== operation)
    }
  }

  get hasFresh(): boolean {
    return this.#fresh.length > 0
  }

  takeFresh(): Operation[] {
    return this.#fresh.splice(0)
  }

  /** Those that were held back may proceed now. */
  refresh(): void {
    this.#fresh = [...this.#operations.values()].filter((operation) => operation.phase === 'ready')
  }

  offer(outcome: Outcome): void {
    this.#outcomes.push(outcome)
  }

  /** The outcome of an operation leaves the line: it is given to the function out of turn. */
  withdraw(operation: Operation): void {
    this.#outcomes = this.#outcomes.filter((outcome) => outcome.operation !== operation)
  }

  get hasOutcome(): boolean {
    return this.#outcomes.length > 0
  }

  takeOutcome(): Outcome | undefined {
    return this.#outcomes.shift()
  }

  /** The operations at which an interrupt is thrown, in the order in which they were asked for. */
  interruptible(): string[] {
    return [...this.#operations.values()]
      .filter(({ phase }) => phase === 'waiting' || phase === 'ready')
      .sort((a, b) => a.asked - b.asked)
      .map(({ key }) => key)
  }

  inPhase(phase: Operation['phase']): Operation[] {
    return [...this.#operations.values()].filter((operation) => operation.phase === phase)
  }

  /** What all this amounts to. While `holding`, operations that are ready do not begin here: they are due now. */
  rest(now: number, holding: boolean): Rest {
    let goesOn = false
    let held = false
    let dueAt = Number.POSITIVE_INFINITY
    for (const operation of this.#operations.values()) {
      if (operation.phase === 'waiting') dueAt = Math.min(dueAt, operation.dueAt ?? dueAt)
      else if (operation.phase === 'ready' && holding) held = true
      else goesOn = true
    }
    // What is held back is due at once for whoever takes the run next; but as long as something goes on here, nobody does.
    if (held && !goesOn) dueAt = Math.min(dueAt, now)
    return { goesOn, dueAt: Number.isFinite(dueAt) ? dueAt : null, idle: this.#operations.size === 0 }
  }

  /** Stops everything. */
  abandon(reason: unknown): void {
    for (const operation of this.#operations.values()) operation.abandon(reason)
    this.#operations.clear()
    this.#fresh = []
    this.#outcomes = []
  }
}
