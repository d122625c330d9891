import { poisoned } from '../core/lifecycle.ts'
import type { RunRecord } from '../core/run.ts'
import { claimed, created } from '../core/run-machine.ts'
import type { Environment } from '../ports/environment.ts'
import type { Notifier } from '../ports/notifier.ts'
import type { Observer } from '../ports/observer.ts'
import type { Birth, HeldRun, NewRun, RunJournal, Store } from '../ports/store.ts'
import { Claimer } from './claimer.ts'
import type { Committer } from './committer.ts'
import type { EngineConfig } from './config.ts'
import { cancelled, type Ending, failed } from './ending.ts'
import { Execution } from './execution.ts'
import { HotCache } from './hot-cache.ts'
import { invoke } from './invoke.ts'
import { Lease } from './lease.ts'
import type { ExecutionOwner } from './owner.ts'
import { type Executable, loadInput, type Registry } from './registry.ts'
import { Sweeper } from './sweeper.ts'
import { advanceUncalled, type Claim, readJournals } from './without-execution.ts'

export interface WorkerParts {
  readonly store: Store
  readonly env: Environment
  readonly config: EngineConfig
  readonly committer: Committer
  readonly notifier: Notifier
  readonly registry: Registry
  readonly observer: Observer | null
  /** Called with every run that ended here. */
  readonly onEnded: (run: RunRecord, ending: Ending) => void
}

export interface WorkerLimits {
  /** How many runs may execute at once; parked ones do not count. */
  readonly concurrency: number
  /** `null`: every queue. */
  readonly queues: readonly string[] | null
}

/** Claims runs and executes them, from `start` to `stop`. */
export class Worker implements ExecutionOwner<Execution> {
  readonly #parts: WorkerParts
  readonly #limits: WorkerLimits
  readonly #lease: Lease
  readonly #claimer: Claimer
  readonly #hot: HotCache
  #sweeper: Sweeper | null = null
  /** Executions that hold a slot, by run id. */
  readonly #active = new Map<string, Execution>()
  /** Runs that hold a slot and are not executing yet: being created claimed, or being loaded. */
  readonly #coming = new Set<string>()
  /** Runs to look at again as soon as the current look is done. */
  readonly #unread = new Set<string>()
  #reading = false
  #stopping = false
  #onIdle: (() => void) | null = null

  constructor(parts: WorkerParts, limits: WorkerLimits) {
    this.#parts = parts
    this.#limits = limits
    const { store, env, config, registry } = parts
    this.#hot = new HotCache(config.hotRuns)
    this.#lease = new Lease({
      store,
      env,
      leaseMs: config.lease,
      onHeld: (held) => this.#onHeld(held),
      onLost: () => this.#onLost(),
    })
    this.#claimer = new Claimer({
      store,
      env,
      pollInterval: config.pollInterval,
      queues: limits.queues,
      workflows: () => registry.versions,
      free: () => this.#free,
      worker: () => (this.#lease.valid ? this.#lease.id : null),
      onClaimed: (runs) => this.#claimed(runs),
    })
  }

  get leaseIsValid(): boolean {
    return this.#lease.valid
  }

  /** How many runs are executing. */
  get busy(): number {
    return this.#active.size + this.#coming.size
  }

  /** Whether the run is executing or parked in this process. */
  has(runId: string): boolean {
    return this.#active.has(runId) || this.#coming.has(runId) || this.#hot.has(runId)
  }

  async start(): Promise<void> {
    await this.#lease.start()
    if (this.#stopping) return
    const { store, env, notifier, config } = this.#parts
    this.#sweeper = new Sweeper({ store, env, notifier, leaseMs: config.lease })
    this.#claimer.look()
  }

  /** Claims what is due now. */
  look(): void {
    if (!this.#stopping) this.#claimer.look()
  }

  /** Some run is due at this time. */
  hint(at: number): void {
    if (!this.#stopping) this.#claimer.hint(at)
  }

  /** Something was delivered to a run; reads it if the run is executing here. */
  delivered(runId: string): void {
    if (!this.#active.has(runId)) return
    this.#unread.add(runId)
    void this.#read()
  }

  /**
   * Takes no new work, lets bodies that run end, and hands everything else back at once. What still runs after
   * `graceMs` is aborted and handed back too.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    await this.#claimer.stop()
    for (const execution of this.#active.values()) execution.drain()
    await this.#idleWithin(graceMs)
    for (const execution of this.#active.values()) execution.release()
    await this.#parts.committer.finish()
    this.#hot.clear()
    await this.#sweeper?.stop()
    await this.#lease.end()
  }

  /** The claim for a run that is about to be created, if it can be started here at once. */
  reserve(run: NewRun): string | null {
    const { env, registry } = this.#parts
    const { queues } = this.#limits
    if (this.#stopping || this.#free <= 0 || !this.#lease.valid || run.dueAt > env.now()) return null
    if (queues !== null && !queues.includes(run.queue)) return null
    // An id that a caller chose may be here already: two births that claim it could not be told apart.
    if (registry.executable(run) === null || this.has(run.id)) return null
    this.#coming.add(run.id)
    return this.#lease.id
  }

  unreserve({ run, claimedBy }: Birth): void {
    if (claimedBy !== null) this.#vacate(run.id)
  }

  started({ run, claimedBy }: Birth): void {
    if (claimedBy === null) return
    if (claimedBy !== this.#lease.id) {
      this.#vacate(run.id)
      return
    }
    const now = this.#parts.env.now()
    const record = claimed(created(run, now), claimedBy, now)
    if (this.#stopping) this.#handBack(record)
    else this.#begin(record, { runId: run.id, run: record, entries: run.entries, inbox: [] })
  }

  parked(execution: Execution): void {
    const isCurrent = this.#active.get(execution.run.id) === execution
    if (isCurrent) this.#active.delete(execution.run.id)
    // The answer to the parking may be late: then the run was claimed again, and executes anew.
    if (isCurrent && !this.#stopping) this.#hot.keep(execution)
    else execution.abandon('The run goes on elsewhere.')
    this.#freed()
  }

  over(execution: Execution, ending: Ending | null): void {
    if (this.#active.get(execution.run.id) === execution) this.#active.delete(execution.run.id)
    if (ending !== null) this.#parts.onEnded(execution.run, ending)
    this.#freed()
  }

  get #free(): number {
    return this.#limits.concurrency - this.busy
  }

  #freed(): void {
    if (this.busy === 0) this.#onIdle?.()
    if (!this.#stopping) this.#claimer.roomAgain()
  }

  #vacate(runId: string): void {
    this.#coming.delete(runId)
    this.#freed()
  }

  /** Starts or resumes what was claimed. */
  async #claimed(runs: readonly RunRecord[]): Promise<void> {
    for (const run of runs) this.#coming.add(run.id)
    const hot = new Map<string, Execution>()
    for (const run of runs) {
      const execution = this.#hot.take(run.id)
      if (execution === null) continue
      if (isUntouched(execution.run, run)) hot.set(run.id, execution)
      else execution.abandon('The run was executed elsewhere in the meantime.')
    }
    const cold = runs.filter((run) => !hot.has(run.id)).map((run) => run.id)
    const unread = runs.filter((run) => hot.has(run.id) && run.deliveries > run.seen).map((run) => run.id)
    const journals = new Map<string, RunJournal>()
    for (const journal of await this.#load(cold, true)) journals.set(journal.runId, journal)
    for (const journal of await this.#load(unread, false)) journals.set(journal.runId, journal)
    for (const run of runs) this.#go(run, hot.get(run.id) ?? null, journals.get(run.id) ?? null)
  }

  #go(run: RunRecord, hot: Execution | null, journal: RunJournal | null): void {
    if (run.owner !== this.#lease.id || this.#stopping) {
      hot?.abandon('The claim was lost before the run went on.')
      this.#handBack(run)
      return
    }
    // What was read after the claim may know of more deliveries than the claim did.
    const current = journal?.run?.fence === run.fence ? journal.run : run
    if (hot !== null && poisoned(run, this.#parts.config.maxDeaths) === null) {
      this.#coming.delete(run.id)
      this.#active.set(run.id, hot)
      hot.resume(current, journal?.inbox ?? [])
      return
    }
    hot?.abandon('The run is not executed again.')
    if (journal === null) this.#handBack(run)
    else this.#begin(current, journal)
  }

  #begin(run: RunRecord, journal: RunJournal): void {
    const { env, config, registry } = this.#parts
    const poison = poisoned(run, config.maxDeaths)
    const definition = registry.executable(run)
    const neverCalled = run.fence === 1
    if (poison !== null) this.#endUncalled(run, failed(run, poison, env.now()))
    else if (run.cancelReason !== null && neverCalled) this.#endUncalled(run, cancelled(run, env.now()))
    else if (definition === null) this.#handBack(run)
    else this.#execute(run, journal, definition)
  }

  #execute(run: RunRecord, journal: RunJournal, definition: Executable): void {
    const { env, config, committer, registry, observer } = this.#parts
    const parts = { env, config, committer, observer, owner: this }
    const execution = new Execution(parts, run, journal.entries, journal.inbox)
    this.#coming.delete(run.id)
    this.#active.set(run.id, execution)
    execution.start(loadInput(definition, run), (input) => invoke(definition, execution, registry, input))
  }

  /** Ends a claimed run without calling its function. */
  #endUncalled(run: RunRecord, ending: Ending): void {
    const { committer, env, config } = this.#parts
    advanceUncalled(committer, run, ending.transition, ending, env.now() + config.lease).then(
      (written) => {
        this.#vacate(run.id)
        if (written) this.#parts.onEnded(run, ending)
      },
      () => this.#vacate(run.id),
    )
  }

  /** Gives a claim back: due at once, its attempt not counted. */
  #handBack(run: Claim & Pick<RunRecord, 'deliveries'>): void {
    const { committer, env, config } = this.#parts
    const transition = { status: 'waiting', dueAt: env.now(), seen: run.deliveries } as const
    const nobody = { deliveries: [], deliveriesIfCancelled: [] }
    const done = (): void => this.#vacate(run.id)
    advanceUncalled(committer, run, transition, nobody, env.now() + config.lease).then(done, done)
  }

  async #load(runIds: readonly string[], entries: boolean): Promise<readonly RunJournal[]> {
    const id = this.#lease.id
    const wanted = (): boolean => this.#lease.id === id && !this.#stopping
    return (await readJournals(this.#parts, runIds, { entries }, wanted)) ?? []
  }

  /** Compares what the store says this worker holds with what it executes. */
  #onHeld(held: readonly HeldRun[]): void {
    for (const { id, fence, deliveries } of held) {
      const execution = this.#active.get(id)
      if (execution !== undefined) {
        if (deliveries > execution.run.deliveries) this.delivered(id)
      } else if (!this.#coming.has(id) && !this.#claimer.claiming) {
        // A claim whose answer was lost: nobody executes it, and this worker's heartbeats would hold it for ever.
        this.#handBack({ id, fence, deliveries, owner: this.#lease.id })
      }
    }
  }

  #onLost(): void {
    for (const execution of [...this.#active.values()]) {
      execution.abandon('This worker could not renew its lease in time.')
    }
  }

  /** Reads what was delivered to runs that are executing here. */
  async #read(): Promise<void> {
    if (this.#reading) return
    this.#reading = true
    while (this.#unread.size > 0) {
      const runIds = [...this.#unread]
      this.#unread.clear()
      for (const { runId, run, inbox } of await this.#load(runIds, false)) {
        const execution = this.#active.get(runId)
        if (execution === undefined) continue
        if (run !== null && run.fence === execution.run.fence && run.owner === execution.run.owner) {
          execution.update(run, inbox)
        }
      }
    }
    this.#reading = false
  }

  async #idleWithin(graceMs: number): Promise<void> {
    if (this.busy === 0) return
    const { env } = this.#parts
    await new Promise<void>((resolve) => {
      const cancel = env.setTimer(graceMs, resolve)
      this.#onIdle = () => {
        cancel()
        resolve()
      }
    })
    this.#onIdle = null
  }
}

/** Whether a parked execution may go on: nobody has had the run since, and it has not started over. */
function isUntouched(parked: RunRecord, claimed: RunRecord): boolean {
  return claimed.fence === parked.fence + 1 && claimed.epoch === parked.epoch
}
