import { AsyncResource } from 'node:async_hooks'
import { describe } from '../core/describe.ts'
import { ClaimLostError, type NonDeterminismError } from '../core/errors.ts'
import type { Answer, Asked } from '../core/replay.ts'
import type { Entry, InboxItem, RunRecord, Transition } from '../core/run.ts'
import type { Environment } from '../ports/environment.ts'
import type { Observer } from '../ports/observer.ts'
import type { Birth, CancelRequest, RunState } from '../ports/store.ts'
import { Alarm } from './alarm.ts'
import { Checkpoints } from './checkpoints.ts'
import type { Committer } from './committer.ts'
import { Conductor } from './conductor.ts'
import type { EngineConfig } from './config.ts'
import { type Ending, endingOf, type Finish, orphansOf, refuseInput, setAside } from './ending.ts'
import type { ExecutionEvent, ExecutionHost } from './host.ts'
import type { Operation, Outcome } from './operations/operation.ts'
import type { Save } from './operations/save.ts'
import { Outgoing } from './outgoing.ts'
import type { ExecutionOwner } from './owner.ts'

export interface ExecutionParts {
  readonly observer: Observer | null
  readonly env: Environment
  readonly config: EngineConfig
  readonly committer: Committer
  readonly owner: ExecutionOwner<Execution>
}

/**
 * - `active`: the function, a body or a write of this run is going on here.
 * - `leaving`: a transition is on its way to the store; nothing new is begun.
 * - `parked`: the run waits in the store, the function waits in memory.
 * - `over`: this execution will never touch the run again.
 */
type State = 'active' | 'leaving' | 'parked' | 'over'

/**
 * One execution of one claimed run: calls the function, lets the conductor lead it, gathers what it records into
 * writes, and parks or ends the run when the function can go no further.
 *
 * The heart is `#pump`. It runs whenever something has happened and the function has come to rest, takes one turn, and
 * comes again after the function has taken that in.
 */
export class Execution implements ExecutionHost {
  run: RunRecord
  readonly env: Environment
  readonly config: EngineConfig
  readonly checkpoints: Checkpoints
  readonly conductor: Conductor
  readonly #observer: Observer | null
  readonly #owner: ExecutionOwner<Execution>
  readonly #committer: Committer
  readonly #outgoing: Outgoing
  readonly #alarm: Alarm
  readonly #stallAlarm: Alarm
  /** How to tell the bodies that are saving that it failed. */
  readonly #savers = new Set<(error: unknown) => void>()
  #state: State = 'active'
  #finish: Finish | null = null
  /** Whether the function was called; its input may take time to read. */
  #called = false
  #scheduled = false
  #draining = false
  readonly #orphans: readonly CancelRequest[]

  constructor(parts: ExecutionParts, run: RunRecord, entries: readonly Entry[], inbox: readonly InboxItem[]) {
    this.env = parts.env
    this.config = parts.config
    this.#observer = parts.observer
    this.#committer = parts.committer
    this.#owner = parts.owner
    this.run = run
    this.checkpoints = new Checkpoints(entries)
    this.#orphans = orphansOf(entries)
    this.conductor = new Conductor(this, entries, inbox)
    this.#alarm = new Alarm(parts.env, () => this.touch())
    this.#stallAlarm = new Alarm(parts.env, () => this.#stalled())
    this.#outgoing = new Outgoing({
      committer: parts.committer,
      run: () => this.run,
      onWritten: () => this.touch(),
      onLeft: (state, ending) => this.#left(state, ending),
      onRefused: (reason) => this.abandon(reason),
      onBorn: (birth) => parts.owner.started(birth),
      onUnborn: (birth) => parts.owner.unreserve(birth),
    })
  }

  // What the worker asks for.

  /** Calls the function with the input, once that is read. Whatever follows happens by itself. */
  start(input: Promise<unknown>, call: (input: unknown) => Promise<unknown>): void {
    this.#noticeRequests()
    input.then(
      (read) => this.#call(() => call(read)),
      (error: unknown) => this.#setAside(error, refuseInput(this.run, error, this.env.now())),
    )
  }

  /** Goes on after the run was claimed again, with the function as it was left. */
  resume(run: RunRecord, inbox: readonly InboxItem[]): void {
    this.run = run
    this.#state = 'active'
    this.#outgoing.reopen()
    this.conductor.pending.refresh()
    this.observe({ type: 'execution-started', how: 'hot' })
    this.update(run, inbox)
  }

  /** Takes in what was delivered or requested while the run is executing. */
  update(run: RunRecord, inbox: readonly InboxItem[]): void {
    const held = this.holding
    this.run = run
    this.conductor.inbox.add(inbox)
    this.#noticeRequests()
    if (held && !this.holding) this.conductor.pending.refresh()
    this.touch()
  }

  /** Starts no more bodies; hands the run back as soon as those that run have ended. */
  drain(): void {
    this.#draining = true
    this.touch()
  }

  /** Hands the run back now: stops what runs, drops its outcomes, leaves the run due at once. */
  release(): void {
    if (this.#state === 'over' || this.#state === 'parked' || this.#outgoing.taken) return
    this.#stop(new ClaimLostError('The worker is shutting down and has handed the run back.'))
    this.#leaveForGood({ status: 'waiting', dueAt: this.env.now(), seen: this.run.deliveries })
  }

  /** Forgets the run: the claim is lost, or a parked execution is evicted. */
  abandon(reason: string): void {
    if (this.#state === 'over') return
    if (this.#state !== 'parked') this.observe({ type: 'execution-lost' })
    this.#state = 'over'
    this.#stop(new ClaimLostError(reason))
    this.#outgoing.close()
    this.#owner.over(this, null)
  }

  // What operations and the function's own calls ask for.

  get holding(): boolean {
    const ends = this.#draining || this.run.pauseRequested || this.#state === 'over' || this.#outgoing.taken
    return ends || !this.#owner.leaseIsValid
  }

  /** Whether the execution will never answer again. */
  get isOver(): boolean {
    return this.#state === 'over' || (this.#state === 'leaving' && this.#outgoing.isEnding)
  }

  get saving(): boolean {
    return this.#savers.size > 0
  }

  observe(event: ExecutionEvent): void {
    if (this.#observer === null) return
    const { id: runId, workflow, fence } = this.run
    this.#observer({ ...event, runId, workflow, fence })
  }

  /** What the journal says of a request. A mismatch pauses the run. */
  lookUp(asked: Asked): Answer {
    const answer = this.conductor.lookUp(asked)
    if (answer.type === 'mismatch') this.#mismatch(answer.error)
    return answer
  }

  /** Adds an operation that the function has asked for. */
  add(operation: Operation): void {
    this.conductor.pending.add(operation)
    this.touch()
  }

  addSave(save: Save): void {
    this.conductor.pending.addSave(save)
    this.touch()
  }

  offer(outcome: Outcome): void {
    this.conductor.pending.offer(outcome)
    this.touch()
  }

  /** Records entries from inside a body. Resolves when they are durable; rejects if the claim is lost before. */
  durably(entries: readonly Entry[]): Promise<void> {
    if (this.#state === 'parked')
      return Promise.reject(new ClaimLostError('The run went on without this body.'))
    return new Promise((resolve, reject) => {
      this.#savers.add(reject)
      for (const entry of entries) this.record(entry)
      this.whenDurable(() => {
        this.#savers.delete(reject)
        resolve()
      })
    })
  }

  record(entry: Entry): void {
    this.#outgoing.buffer.record(entry)
    this.touch()
  }

  consume(itemIds: readonly string[]): void {
    this.#outgoing.buffer.consume(itemIds)
  }

  whenDurable(callback: () => void): void {
    this.#outgoing.buffer.whenDurable(callback)
  }

  addChild(birth: Birth): void {
    this.#outgoing.buffer.addChild(birth)
  }

  addCancel(request: CancelRequest): void {
    this.#outgoing.buffer.addCancel(request)
  }

  reserve(run: Birth['run']): string | null {
    return this.holding ? null : this.#owner.reserve(run)
  }

  /** Cancels the run from inside. */
  cancel(reason: string): void {
    this.conductor.cancel(reason)
    this.touch()
  }

  touch(): void {
    if (this.#scheduled || this.#state === 'over') return
    this.#scheduled = true
    this.env.settled(() => {
      this.#scheduled = false
      this.#pump()
    })
  }

  // The pump.

  #pump(): void {
    if (this.#state === 'leaving') this.#stayAfterAll()
    if (this.#state === 'parked' && this.#hasGoneOn) this.#wakeItself()
    if (this.#state !== 'active' || !this.#called) return
    const turn = this.conductor.turn(this.#finish !== null)
    if (turn.type !== 'stalled') this.#stallAlarm.clear()
    switch (turn.type) {
      case 'again':
        this.touch()
        break
      case 'stalled':
        // Unless the function asks for it soon, its code has changed.
        this.#stallAlarm.setIfUnset(this.env.now() + this.config.replayStall)
        break
      case 'mismatch':
        this.#mismatch(turn.error)
        break
      case 'unreadable':
        this.#setAside(turn.error)
        break
      case 'wait':
        this.#outgoing.flush()
        this.#alarm.set(turn.dueAt)
        break
      case 'park':
        this.#leave({ status: 'waiting', dueAt: turn.dueAt, seen: this.run.deliveries }, null)
        break
      case 'end':
        this.#end(this.#finish ?? this.#giveUp())
    }
  }

  /** Something new has happened before a parking left: it is taken back. */
  #stayAfterAll(): void {
    if (this.#outgoing.taken || this.#outgoing.isEnding) return
    this.#outgoing.stay()
    this.#state = 'active'
  }

  /** Whether the function has asked for something, or ended, since it was looked at. */
  get #hasGoneOn(): boolean {
    return this.conductor.pending.hasFresh || this.#finish !== null
  }

  /**
   * The function awaited something that is no step, and went on after the run was parked. That is not
   * deterministic, but it must not hang.
   */
  #wakeItself(): void {
    this.#committer.submit({ type: 'control', action: 'wake', runId: this.run.id }, 0).catch(() => {})
  }

  #end(finish: Finish): void {
    for (const { key } of this.conductor.pending.inPhase('ready')) {
      const fields = { runId: this.run.id, step: key }
      this.env.log.warn('the workflow ended before a step of it was started; await it', fields)
    }
    const ending = endingOf(this, this.conductor.lastAttempts, finish, this.conductor.interruption)
    this.#leave(ending.transition, ending)
  }

  /** The function does not end although it was interrupted: goes on without it. */
  #giveUp(): Finish {
    const error = this.conductor.interruption
    this.#stop(new ClaimLostError('The run was interrupted, and its function did not end within the grace.'))
    return { type: 'threw', error }
  }

  // Code that does not fit the journal.

  #stalled(): void {
    const error = this.conductor.stall()
    if (error !== null) this.#mismatch(error)
  }

  #mismatch(error: NonDeterminismError): void {
    if (this.#state !== 'active') return
    // What this execution recorded while it was still replaying comes from code that has gone another way.
    if (this.conductor.behindJournal) this.#outgoing.discard()
    this.#setAside(error)
  }

  /** Gives the run up as it is: it cannot go on until somebody has looked at it. */
  #setAside(error: unknown, ending = setAside(this.run, error, this.env.now())): void {
    if (this.#state === 'over') return
    this.env.log.error('the run is set aside', { runId: this.run.id, reason: describe(error) })
    this.#stop(new ClaimLostError('The run is set aside.'))
    // If it ends so, its function will not come to where it waits for its children.
    if (ending.transition.status === 'cancelled') for (const request of this.#orphans) this.addCancel(request)
    this.#leave(ending.transition, ending)
  }

  #noticeRequests(): void {
    if (this.run.cancelReason !== null) this.conductor.cancel(this.run.cancelReason)
  }

  // Coming and going.

  #call(call: () => Promise<unknown>): void {
    if (this.#state !== 'active') return
    this.#called = true
    this.observe({ type: 'execution-started', how: 'cold' })
    // The function must not see the context of whoever happened to start or claim the run.
    root.runInAsyncScope(() => {
      call().then(
        (value) => this.#finished({ type: 'returned', value }),
        (error: unknown) => this.#finished({ type: 'threw', error }),
      )
    })
    this.touch()
  }

  #finished(finish: Finish): void {
    this.#finish = finish
    this.touch()
  }

  #leaveForGood(transition: Transition): void {
    this.#leave(transition, { transition, deliveries: [], deliveriesIfCancelled: [] })
  }

  #leave(transition: Transition, ending: Ending | null): void {
    this.#state = 'leaving'
    this.#alarm.clear()
    this.#outgoing.leave(transition, ending)
  }

  #left(state: RunState | null, ending: Ending | null): void {
    this.observe({ type: 'execution-left', status: state?.status ?? 'unknown' })
    if (ending === null && !this.#draining) {
      this.#state = 'parked'
      this.#owner.parked(this)
      if (this.#hasGoneOn) this.touch()
      return
    }
    this.#state = 'over'
    // A run that has ended has nothing left that could be stopped.
    if (ending === null)
      this.#stop(new ClaimLostError('The worker is shutting down and has handed the run back.'))
    this.#owner.over(this, ending === null ? null : { ...ending, state })
  }

  #stop(reason: Error): void {
    this.#alarm.clear()
    this.#stallAlarm.clear()
    for (const reject of this.#savers) reject(reason)
    this.#savers.clear()
    this.conductor.stop(reason)
  }
}

/** The context in which workflow functions are called: that of the module, which belongs to nobody. */
const root = new AsyncResource('PerdureExecution')
