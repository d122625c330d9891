import type { Execution } from './execution.ts'

/** Parked executions that stay in memory, so that they can go on without a replay. The least recently parked goes first. */
export class HotCache {
  readonly #limit: number
  readonly #executions = new Map<string, Execution>()

  constructor(limit: number) {
    this.#limit = limit
  }

  has(runId: string): boolean {
    return this.#executions.has(runId)
  }

  keep(execution: Execution): void {
    this.#executions.set(execution.run.id, execution)
    if (this.#executions.size <= this.#limit) return
    const [oldest] = this.#executions.values()
    if (oldest !== undefined) this.#evict(oldest)
  }

  /** Takes a run's execution out of the cache, to be resumed or abandoned. */
  take(runId: string): Execution | null {
    const execution = this.#executions.get(runId) ?? null
    this.#executions.delete(runId)
    return execution
  }

  clear(): void {
    for (const execution of [...this.#executions.values()]) this.#evict(execution)
  }

  #evict(execution: Execution): void {
    this.#executions.delete(execution.run.id)
    execution.abandon('The parked execution was evicted from memory; the run itself is safe in the store.')
  }
}
