import { AsyncResource } from 'node:async_hooks'
import { decodeError, encodeError } from '../core/error-codec.ts'
import { ClaimLostError, describe, type NonDeterminismError } from '../core/errors.ts'
import { cancellation, deadlinePassed } from '../core/lifecycle.ts'
import { type Asked, Replay } from '../core/replay.ts'
import type { AttemptRecord, Entry, InboxItem, RunRecord } from '../core/run.ts'
import type { Environment } from '../ports/environment.ts'
import type { Observer } from '../ports/observer.ts'
import type { AdvanceWrite, Birth, CancelRequest, Transition, Write, WriteResult } from '../ports/store.ts'
import { Checkpoints } from './checkpoints.ts'
import type { Committer, WriteSource } from './committer.ts'
import type { EngineConfig } from './config.ts'
import { type Ending, endingOf, type Finish } from './ending.ts'
import type { ExecutionEvent, ExecutionHost } from './host.ts'
import { Inbox } from './inbox.ts'
import { Interrupt } from './interrupt.ts'
import type { Operation, Outcome } from './operations/operation.ts'
import type { Save } from './operations/save.ts'
import { WriteBuffer } from './write-buffer.ts'

/** The worker that an execution belongs to. */
export interface ExecutionOwner {
  /** The run is parked; the execution may be resumed if the run is claimed again and nobody else had it. */
  parked(execution: Execution): void
  /** The execution is over: the run has ended, is due again, paused, or the claim was lost. */
  over(execution: Execution, ending: Ending | null): void
  /** A child that was created claimed by this worker: start it. */
  started(birth: Birth): void
  /** The slot for such a child was not used. */
  unreserve(birth: Birth): void
  reserve(run: Birth['run']): string | null
}

export interface ExecutionParts {
  readonly observer: Observer | null
  readonly env: Environment
  readonly config: EngineConfig
  readonly committer: Committer
  readonly owner: ExecutionOwner
}

/**
 * - `active`: the function, a body or a write of this run is going on here.
 * - `leaving`: a transition is on its way to the store; nothing new is begun.
 * - `parked`: the run waits in the store, the function waits in memory.
 * - `over`: this execution will never touch the run again.
 */
type State = 'active' | 'leaving' | 'parked' | 'over'

/**
 * One execution of one claimed run: calls the function, hands outcomes to it one by one in the recorded order,
 * gathers what it records into writes, and parks or ends the run when the function can go no further.
 *
 * The heart is `#pump`. It runs whenever something has happened and the function has come to rest, does one thing
 * (hands out one outcome, replayed or new; throws an interrupt; ends; parks), and comes again after the function
 * has taken that in.
 */
export class Execution implements ExecutionHost, WriteSource {
  run: RunRecord
  readonly env: Environment
  readonly config: EngineConfig
  readonly checkpoints: Checkpoints
  readonly #observer: Observer | null
  readonly #committer: Committer
  readonly #owner: ExecutionOwner
  readonly #replay: Replay
  readonly #buffer = new WriteBuffer()
  readonly #inbox = new Inbox()
  readonly #interrupt: Interrupt
  readonly #abort = new AbortController()
  readonly #operations = new Map<string, Operation>()
  /** Operations that have not been told to proceed yet. */
  #fresh: Operation[] = []
  /** Saves in the order in which they were asked for. */
  #saves: Save[] = []
  /** How to tell the bodies that are saving that it failed. */
  readonly #savers = new Set<(error: unknown) => void>()
  #ready: Outcome[] = []
  #state: State = 'active'
  #transition: Transition | null = null
  #ending: Ending | null = null
  #taken = false
  #finish: Finish | null = null
  #scheduled = false
  #asked = 0
  #entryCount: number
  /** The failed attempts of the outcome that was handed out last. */
  #lastAttempts: readonly AttemptRecord[] = []
  #draining = false
  #timer: { readonly at: number; readonly cancel: () => void } | null = null
  #stall: (() => void) | null = null

  constructor(parts: ExecutionParts, run: RunRecord, entries: readonly Entry[], inbox: readonly InboxItem[]) {
    this.env = parts.env
    this.config = parts.config
    this.#observer = parts.observer
    this.#committer = parts.committer
    this.#owner = parts.owner
    this.run = run
    this.#replay = new Replay(entries, run.epoch)
    this.#entryCount = entries.length
    this.checkpoints = new Checkpoints(entries)
    this.#interrupt = new Interrupt(run.epoch)
    this.#inbox.add(inbox)
  }

  /** Calls the function with the input, once that is read. Whatever follows happens by itself. */
  start(input: Promise<unknown>, call: (input: unknown) => Promise<unknown>): void {
    this.#noticeRequests()
    input.then(
      (read) => this.#call(() => call(read)),
      (error: unknown) => this.#setAside(error),
    )
  }

  /** Goes on after the run was claimed again, with the function as it was left. */
  resume(run: RunRecord, inbox: readonly InboxItem[]): void {
    this.run = run
    this.#state = 'active'
    this.#transition = null
    this.#taken = false
    this.#fresh = [...this.#operations.values()].filter((operation) => operation.phase === 'ready')
    this.observe({ type: 'execution-started', how: 'hot' })
    this.update(run, inbox)
  }

  /** Takes in what was delivered or requested while the run is executing. */
  update(run: RunRecord, inbox: readonly InboxItem[]): void {
    const held = this.holding
    this.run = { ...run, fence: this.run.fence }
    this.#inbox.add(inbox)
    this.#noticeRequests()
    if (held && !this.holding) {
      this.#fresh = [...this.#operations.values()].filter((operation) => operation.phase === 'ready')
    }
    this.touch()
  }

  /** Starts no more bodies; hands the run back as soon as those that run have ended. */
  drain(): void {
    this.#draining = true
    this.touch()
  }

  /** Hands the run back now: stops what runs, drops its outcomes, leaves the run due at once. */
  release(): void {
    if (this.#state === 'over' || this.#state === 'parked' || this.#taken) return
    this.#stop(new ClaimLostError('The worker is shutting down and has handed the run back.'))
    this.#leaveForGood({ status: 'waiting', dueAt: this.env.now(), seen: this.run.deliveries })
  }

  /** Forgets the run: the claim is lost, or a parked execution is evicted. */
  abandon(reason: string): void {
    if (this.#state === 'over') return
    if (this.#state !== 'parked') this.observe({ type: 'execution-lost' })
    this.#state = 'over'
    this.#stop(new ClaimLostError(reason))
    this.#discard()
    this.#owner.over(this, null)
  }

  get parked(): boolean {
    return this.#state === 'parked'
  }

  /** Aborts when the run is interrupted or the claim is over. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get replaying(): boolean {
    return this.#replay.replaying
  }

  // What operations, and the step context, ask for.

  get holding(): boolean {
    return this.#draining || this.run.pauseRequested || this.#state === 'over' || this.#taken
  }

  get handedOut(): number {
    return this.#replay.handedOut
  }

  observe(event: ExecutionEvent): void {
    const { id: runId, fence } = this.run
    this.#observer?.({ ...event, runId, fence })
  }

  nextAsked(): number {
    this.#asked += 1
    return this.#asked
  }

  /** Whether another entry would exceed the limit of one journal. */
  get journalFull(): boolean {
    return this.#entryCount >= this.config.maxJournalEntries
  }

  /** Whether the execution will never answer again. */
  get isOver(): boolean {
    return this.#state === 'over' || (this.#state === 'leaving' && this.#ending !== null)
  }

  /** What the journal says of a request. A mismatch pauses the run. */
  lookUp(asked: Asked): ReturnType<Replay['ask']> {
    const answer = this.#replay.ask(asked)
    if (answer.type === 'mismatch') this.#mismatch(answer.error)
    if (answer.type === 'fresh') this.#entryCount += 1
    return answer
  }

  /** Adds an operation that the function has asked for. */
  add(operation: Operation): void {
    this.#operations.set(operation.key, operation)
    this.#fresh.push(operation)
    this.touch()
  }

  /** Records entries from inside a body. Resolves when they are durable; rejects if the claim is lost before. */
  durably(entries: readonly Entry[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#savers.add(reject)
      for (const entry of entries) this.record(entry)
      this.whenDurable(() => {
        this.#savers.delete(reject)
        resolve()
      })
    })
  }

  addSave(save: Save): void {
    this.#saves.push(save)
    this.add(save)
  }

  record(entry: Entry): void {
    this.#buffer.record(entry)
    this.touch()
  }

  offer(outcome: Outcome): void {
    this.#ready.push(outcome)
    this.touch()
  }

  whenDurable(callback: () => void): void {
    this.#buffer.whenDurable(callback)
  }

  addChild(birth: Birth): void {
    this.#buffer.addChild(birth)
  }

  addCancel(request: CancelRequest): void {
    this.#buffer.addCancel(request)
  }

  reserve(run: Birth['run']): string | null {
    return this.holding ? null : this.#owner.reserve(run)
  }

  interruptReached(): void {
    if (this.#interrupt.thrown) return
    this.record(this.#interrupt.throwAt(this.#replay.handOut(), [], this.env.now()))
  }

  /** What was thrown into the function; `null` while nothing was. */
  get thrown(): { readonly reason: unknown } | null {
    return this.#interrupt.thrown ? { reason: this.#interrupt.reason } : null
  }

  /** Cancels the run from inside. */
  cancel(reason: string): void {
    this.#interrupt.request(cancellation(reason))
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
    if (this.#state === 'leaving' && !this.#stayAfterAll()) return
    if (this.#state === 'parked' && this.#fresh.length > 0) this.#wakeItself()
    if (this.#state !== 'active') return
    if (this.#replay.peek() !== null) this.#replayNext()
    else if (this.#finish !== null) this.#end(this.#finish)
    else this.#goOn()
  }

  /** Something new has happened before the transition left: it is taken back. */
  #stayAfterAll(): boolean {
    if (this.#taken || this.#ending !== null || this.#transition?.status !== 'waiting') return false
    if (this.#draining && this.#fresh.length === 0) return false
    this.#transition = null
    this.#state = 'active'
    return true
  }

  /**
   * The function awaited something that is no step, and went on after the run was parked. That is not
   * deterministic, but it must not hang.
   */
  #wakeItself(): void {
    const write: Write = { type: 'control', action: 'wake', runId: this.run.id }
    this.#committer.submit(write, 0).catch(() => {})
  }

  /** Hands out the next recorded outcome. */
  #replayNext(): void {
    if (this.#finish !== null) return this.#mismatch(this.#replay.stalled([]))
    const recorded = this.#replay.peek()
    if (recorded?.type === 'save') {
      const save = this.#saves.shift()
      if (save === undefined) return this.#watchStall()
      this.#unstall()
      this.#replay.handOut()
      this.#forget(save.key)
      save.replayed()
    } else if (recorded?.type === 'outcome' && recorded.entry.kind === 'interrupt') {
      this.#unstall()
      this.#replay.handOut()
      this.#throwAt(this.#interrupt.replay(recorded.entry))
    } else if (recorded?.type === 'outcome') {
      const operation = this.#operations.get(recorded.entry.key)
      if (operation === undefined) return this.#watchStall()
      this.#unstall()
      const order = this.#replay.handOut()
      this.observe({ type: 'handed-out', key: operation.key, order, replayed: true })
      this.#forget(operation.key)
      this.#lastAttempts = recorded.entry.attempts
      operation.settle(recorded.entry)
    }
    this.touch()
  }

  /** Beyond the journal: begins what was asked for, hands out one new outcome, or comes to rest. */
  #goOn(): void {
    this.#checkDeadline()
    if (this.#throwInterrupt()) return this.touch()
    for (const operation of this.#fresh.splice(0)) operation.proceed()
    if (this.#ready.length === 0) this.#inbox.distribute(this.#operations.values(), this.env.now())
    const outcome = this.#ready.shift()
    if (outcome === undefined) return this.#rest()
    this.#handOut(outcome)
    this.touch()
  }

  #handOut({ operation, entry, consumed }: Outcome): void {
    const order = this.#replay.handOut()
    this.observe({ type: 'handed-out', key: operation.key, order, replayed: false })
    this.#forget(operation.key)
    if (entry === null) {
      this.#saves.shift()
      operation.settle(null)
      return
    }
    const recorded = { ...entry, epoch: this.run.epoch, order }
    this.#buffer.record(recorded)
    this.#buffer.consume(consumed)
    this.#lastAttempts = recorded.attempts
    operation.settle(recorded)
  }

  /** The function can go no further: writes what there is, and parks if nothing goes on here. */
  #rest(): void {
    let next = this.#interrupt.requested ? null : this.run.deadline
    let waits = false
    for (const { phase, dueAt } of this.#operations.values()) {
      if (phase === 'busy' || phase === 'offered') waits = true
      if (phase === 'ready') {
        if (!this.holding) waits = true
        next = Math.min(next ?? Number.POSITIVE_INFINITY, this.env.now())
      } else if (dueAt !== null) {
        next = Math.min(next ?? Number.POSITIVE_INFINITY, dueAt)
      }
    }
    // Without any operation the function awaits something that is no step: it goes on by itself.
    if (waits || this.#operations.size === 0) {
      this.#flush()
      this.#arm(next)
      return
    }
    this.#leave({ status: 'waiting', dueAt: next, seen: this.run.deliveries }, null)
  }

  /** The function has ended: so does the run, once what still runs has ended too. */
  #end(finish: Finish): void {
    const early = this.#interrupt.requested ? null : this.#replay.endedEarly()
    if (early !== null) return this.#mismatch(early)
    let busy = false
    for (const operation of this.#operations.values()) {
      if (operation.phase === 'busy') busy = true
    }
    // Outcomes that nobody waits for are recorded, but the function is not there any more to be given them.
    for (const { operation, entry, consumed } of this.#ready.splice(0)) {
      this.#forget(operation.key)
      if (entry !== null) this.#buffer.record({ ...entry, order: null })
      this.#buffer.consume(consumed)
    }
    if (busy) return this.#flush()
    this.#warnOfUnstarted()
    const ending = endingOf(this, this.#lastAttempts, finish, this.#interrupt.reason)
    this.#leave(ending.transition, ending)
  }

  #warnOfUnstarted(): void {
    for (const { key, phase } of this.#operations.values()) {
      if (phase !== 'ready') continue
      this.env.log.warn('the workflow ended before a step of it was started; await it', {
        runId: this.run.id,
        step: key,
      })
    }
  }

  // Interrupts: a cancel, or the deadline.

  #noticeRequests(): void {
    if (this.run.cancelReason !== null) this.#interrupt.request(cancellation(this.run.cancelReason))
  }

  #checkDeadline(): void {
    const { deadline, policy } = this.run
    if (deadline === null || this.env.now() < deadline) return
    this.#interrupt.request(deadlinePassed(policy.timeout ?? 0))
  }

  /** Throws a requested interrupt into the function, wherever it waits. Returns whether it did. */
  #throwInterrupt(): boolean {
    if (!this.#interrupt.requested || this.#interrupt.thrown) return false
    const { reason } = this.#interrupt
    if (!this.#abort.signal.aborted) {
      this.#abort.abort(reason)
      for (const operation of this.#operations.values()) {
        if (operation.phase === 'busy') operation.interrupt(reason)
      }
    }
    const targets = [...this.#operations.values()]
      .filter(({ phase }) => phase === 'waiting' || phase === 'ready')
      .sort((a, b) => a.asked - b.asked)
      .map(({ key }) => key)
    if (targets.length === 0) return false
    this.#buffer.record(this.#interrupt.throwAt(this.#replay.handOut(), targets, this.env.now()))
    this.#throwAt(targets)
    return true
  }

  #throwAt(keys: readonly string[]): void {
    const reason = decodeError(encodeError(this.#interrupt.reason))
    if (!this.#abort.signal.aborted) this.#abort.abort(reason)
    for (const key of keys) {
      const operation = this.#operations.get(key)
      if (operation === undefined) continue
      operation.interrupt(reason)
      this.#forget(key)
      operation.reject(reason)
    }
  }

  #forget(key: string): void {
    const operation = this.#operations.get(key)
    this.#operations.delete(key)
    if (operation !== undefined && this.#fresh.length > 0) {
      this.#fresh = this.#fresh.filter((other) => other !== operation)
    }
  }

  // Mismatch between code and journal.

  /** The journal goes on but the function does not ask for it: unless it does so soon, the code has changed. */
  #watchStall(): void {
    if (this.#stall !== null) return
    this.#stall = this.env.setTimer(this.config.replayStall, () => {
      this.#stall = null
      if (this.#state !== 'active' || this.#replay.peek() === null) return
      this.#mismatch(this.#replay.stalled([...this.#operations.keys()]))
    })
  }

  #unstall(): void {
    this.#stall?.()
    this.#stall = null
  }

  #mismatch(error: NonDeterminismError): void {
    if (this.#state !== 'active') return
    // What this execution recorded while it was still replaying comes from code that has gone another way.
    if (this.#replay.peek() !== null) this.#discard()
    this.#setAside(error)
  }

  /** Pauses the run with a reason, until an operator has looked at it. */
  #setAside(error: unknown): void {
    if (this.#state === 'over') return
    this.env.log.error('the run is paused', { runId: this.run.id, reason: describe(error) })
    this.#stop(new ClaimLostError('The run is paused.'))
    this.#leaveForGood({ status: 'paused', error: encodeError(error), seen: this.run.deliveries })
  }

  // Writes.

  #flush(): void {
    if (this.#buffer.dirty) this.#committer.enlist(this)
  }

  #leave(transition: Transition, ending: Ending | null): void {
    this.#state = 'leaving'
    this.#transition = transition
    this.#ending = ending
    this.#arm(null)
    this.#committer.enlist(this)
  }

  #leaveForGood(transition: Transition): void {
    this.#leave(transition, { transition, deliveries: [], deliveriesIfCancelled: [] })
  }

  /** Forgets what was recorded and not written. */
  #discard(): void {
    for (const birth of this.#buffer.discard()) this.#owner.unreserve(birth)
  }

  take(): Write | null {
    if (this.#state === 'over') return null
    if (this.#transition === null && !this.#buffer.dirty) return null
    this.#taken = this.#transition !== null
    const changes = this.#buffer.take()
    const write: AdvanceWrite = {
      type: 'advance',
      runId: this.run.id,
      worker: this.run.owner ?? '',
      fence: this.run.fence,
      progress: this.run.deaths > 0 && changes.entries.length > 0,
      deliveries: this.#ending?.deliveries ?? [],
      deliveriesIfCancelled: this.#ending?.deliveriesIfCancelled ?? [],
      to: this.#transition,
      ...changes,
    }
    this.#unsettledBirths = changes.children
    return write
  }

  #unsettledBirths: readonly Birth[] = []

  done(result: WriteResult): void {
    const births = this.#unsettledBirths
    this.#unsettledBirths = []
    if (result.status !== 'ok') {
      for (const birth of births) this.#owner.unreserve(birth)
      this.abandon(
        result.status === 'error'
          ? `The store cannot take the run's write: ${result.message}`
          : 'The claim on the run is over: another worker, or an operator, has it.',
      )
      return
    }
    for (const birth of births) if (birth.claimedBy !== null) this.#owner.started(birth)
    if (this.#state === 'over') return
    this.#buffer.committed()
    if (!this.#taken) return this.touch()
    this.observe({ type: 'execution-left', status: result.run?.status ?? 'unknown' })
    if (this.#ending === null && !this.#draining) this.#park()
    else this.#leftFor(result)
  }

  failed(error: unknown): void {
    for (const birth of this.#unsettledBirths) this.#owner.unreserve(birth)
    this.abandon(`The store cannot take the run's writes: ${String(error)}`)
  }

  patient(): boolean {
    return this.#state !== 'over'
  }

  #park(): void {
    this.#state = 'parked'
    this.#owner.parked(this)
    if (this.#fresh.length > 0) this.touch()
  }

  #leftFor(result: WriteResult & { status: 'ok' }): void {
    this.#state = 'over'
    this.#stop(new ClaimLostError('This execution of the run is over.'))
    this.#owner.over(this, this.#ending === null ? null : { ...this.#ending, state: result.run })
  }

  #call(call: () => Promise<unknown>): void {
    if (this.#state !== 'active') return
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

  #stop(reason: Error): void {
    this.#arm(null)
    this.#unstall()
    if (!this.#abort.signal.aborted) this.#abort.abort(reason)
    for (const operation of this.#operations.values()) operation.abandon(reason)
    for (const reject of this.#savers) reject(reason)
    this.#savers.clear()
    this.#operations.clear()
    this.#fresh = []
    this.#ready = []
  }

  /** Sees to it that the execution looks again at this time; only while it is active. */
  #arm(at: number | null): void {
    if (this.#timer?.at === at) return
    this.#timer?.cancel()
    this.#timer = null
    if (at === null) return
    const cancel = this.env.setTimer(Math.max(0, at - this.env.now()), () => {
      this.#timer = null
      this.touch()
    })
    this.#timer = { at, cancel }
  }
}

/** The context in which workflow functions are called: that of the module, which belongs to nobody. */
const root = new AsyncResource('PerdureExecution')
