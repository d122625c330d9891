import { decodeError, encodeError } from '../core/error-codec.ts'
import type { NonDeterminismError } from '../core/errors.ts'
import { cancellation, deadlinePassed } from '../core/lifecycle.ts'
import { type Answer, type Asked, Replay } from '../core/replay.ts'
import type { AttemptRecord, Entry, InboxItem } from '../core/run.ts'
import type { ExecutionHost } from './host.ts'
import { Inbox } from './inbox.ts'
import { Interrupt } from './interrupt.ts'
import { LazyAbort } from './lazy-abort.ts'
import type { Operation, Outcome } from './operations/operation.ts'
import { savedHere } from './operations/save.ts'
import { PendingOperations } from './pending-operations.ts'

/** What is to be done next, after the function has come to rest. */
export type Turn =
  /** The function was given something: look again when it has taken that in. */
  | { readonly type: 'again' }
  /** The journal goes on, but the function has not asked for what comes next. */
  | { readonly type: 'stalled' }
  | { readonly type: 'mismatch'; readonly error: NonDeterminismError }
  /** Something that is stored cannot be read. */
  | { readonly type: 'unreadable'; readonly error: unknown }
  /** Something goes on here; a timer is due at `dueAt`. */
  | { readonly type: 'wait'; readonly dueAt: number | null }
  /** Nothing goes on here until `dueAt`, or until something is delivered. */
  | { readonly type: 'park'; readonly dueAt: number | null }
  /** The function has ended, or is given up after an interrupt, and nothing goes on any more. */
  | { readonly type: 'end' }

/**
 * Leads one function through one run: hands it outcomes one by one, those of the journal first and in their recorded
 * order, then new ones in the order in which they happen; and throws an interrupt into it where one is requested.
 */
export class Conductor {
  readonly pending = new PendingOperations()
  readonly inbox = new Inbox()
  readonly #host: ExecutionHost
  readonly #replay: Replay
  readonly #interrupt: Interrupt
  readonly #abort = new LazyAbort()
  /** Since when an interrupted function has been waiting for something that is no step. */
  #idleSince: number | null = null
  #asked = 0
  #entryCount: number
  /** The failed attempts of the outcome that was handed out last. */
  lastAttempts: readonly AttemptRecord[] = []

  constructor(host: ExecutionHost, entries: readonly Entry[], inbox: readonly InboxItem[]) {
    this.#host = host
    this.#replay = new Replay(entries, host.run.epoch)
    this.#interrupt = new Interrupt(host.run.epoch)
    this.#entryCount = entries.length
    this.inbox.add(inbox)
  }

  /** Whether the code is still on a way that it has gone before. */
  get replaying(): boolean {
    return this.#replay.replaying
  }

  /** Whether recorded outcomes are still to be handed out. */
  get behindJournal(): boolean {
    return this.#replay.peek() !== null
  }

  get handedOut(): number {
    return this.#replay.handedOut
  }

  get journalFull(): boolean {
    return this.#entryCount > this.#host.config.maxJournalEntries
  }

  /** Makes room for an entry that is not looked up. */
  countEntry(): void {
    this.#entryCount += 1
  }

  /** Aborts when the run is interrupted or the claim is over. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** What was thrown into the function; `null` while nothing was. */
  get thrown(): { readonly reason: unknown } | null {
    return this.#interrupt.thrown ? { reason: this.#interrupt.reason } : null
  }

  /** What decides how the run ends, whatever the function makes of it; `undefined` if nothing was requested. */
  get interruption(): unknown {
    return this.#interrupt.reason
  }

  isNextSave({ key }: { readonly key: string }): boolean {
    return this.pending.savesBefore(key) === 0
  }

  placeOf({ key }: { readonly key: string }): number | null {
    return this.behindJournal ? null : this.handedOut + 1 + this.pending.savesBefore(key)
  }

  nextAsked(): number {
    this.#asked += 1
    return this.#asked
  }

  /** What the journal says of a request. */
  lookUp(asked: Asked): Answer {
    const answer = this.#replay.ask(asked)
    if (answer.type === 'fresh') this.#entryCount += 1
    return answer
  }

  /** Cancels the run from inside, or because it was asked for from outside. */
  cancel(reason: string): void {
    this.#interrupt.request(cancellation(reason))
  }

  /** The interrupt has reached the function by way of a body that failed because of it. */
  interruptReached(): void {
    if (this.#interrupt.thrown) return
    this.#host.record(this.#interrupt.recordThrow(this.#replay.handOut(), [], this.#host.env.now()))
  }

  /** The next turn. `ended`: the function has returned or thrown. */
  turn(ended: boolean): Turn {
    try {
      return this.#next(ended)
    } catch (error) {
      // What cannot be read of a journal or an inbox must not end the process.
      return { type: 'unreadable', error }
    }
  }

  #next(ended: boolean): Turn {
    const recorded = this.#replay.peek()
    if (recorded?.type === 'save') return this.#resolveSave()
    if (recorded === null) return ended ? this.#windUp() : this.#goOn()
    if (ended) return { type: 'mismatch', error: this.#replay.stalled(recorded.entry, []) }
    return { type: this.#handOutRecorded(recorded.entry) ? 'again' : 'stalled' }
  }

  /** What is wrong if the function still does not ask for what the journal holds; `null` if it does. */
  stall(): NonDeterminismError | null {
    const recorded = this.#replay.peek()
    return recorded?.type === 'outcome' ? this.#replay.stalled(recorded.entry, this.pending.keys()) : null
  }

  /** Stops everything that goes on for the function. */
  stop(reason: Error): void {
    this.#abort.abort(reason)
    this.pending.abandon(reason)
  }

  /** Here a save resolved. A function that has not asked for one has resumed from what it saved. */
  #resolveSave(): Turn {
    const save = this.pending.nextSave
    if (save !== undefined && !save.isDone) {
      // Other values than those that are stored: of a later save of that name, or new ones of a job that has resumed.
      save.proceed()
      return { type: 'wait', dueAt: null }
    }
    this.#replay.handOut()
    if (save !== undefined) {
      this.pending.shiftSave()
      this.pending.withdraw(save)
      this.pending.forget(save.key)
      save.settle()
    }
    return { type: 'again' }
  }

  /** Hands out what the journal says comes next, if the function has asked for it. */
  #handOutRecorded(entry: Entry): boolean {
    if (entry.kind === 'interrupt') {
      this.#replay.handOut()
      this.#throwAt(this.#interrupt.replay(entry))
      // What is ready now was running then.
      for (const operation of this.pending.inPhase('ready')) operation.interrupt(this.#interrupt.reason)
      return true
    }
    const operation = this.pending.get(entry.key)
    if (operation === undefined) return false
    this.#settle(operation, this.#replay.handOut(), entry, true)
    return true
  }

  /** Beyond the journal: begins what was asked for, hands out one new outcome, or finds that nothing can go on. */
  #goOn(): Turn {
    const { env, run, holding } = this.#host
    if (this.#deadlinePassed()) this.#interrupt.request(deadlinePassed(run.policy.timeout ?? 0))
    if (this.#throwInterrupt()) return { type: 'again' }
    for (const operation of this.pending.takeFresh()) operation.proceed()
    if (!this.pending.hasOutcome) this.inbox.distribute(this.pending.all(), env.now())
    const outcome = this.pending.takeOutcome()
    if (outcome !== undefined) {
      this.#handOut(outcome)
      return { type: 'again' }
    }
    const { goesOn, dueAt, idle } = this.pending.rest(env.now(), holding)
    if (idle) return this.#waitForFunction()
    this.#idleSince = null
    const next = this.#interrupt.requested ? dueAt : earlier(dueAt, run.deadline)
    return { type: goesOn ? 'wait' : 'park', dueAt: next }
  }

  /**
   * Without any operation the function awaits something that is no step: it goes on by itself. But an interrupted one is
   * not waited for without end.
   */
  #waitForFunction(): Turn {
    const { env, run, config } = this.#host
    if (!this.#interrupt.requested) return { type: 'wait', dueAt: run.deadline }
    this.#idleSince ??= env.now()
    const patientUntil = this.#idleSince + config.abortGrace
    return env.now() < patientUntil ? { type: 'wait', dueAt: patientUntil } : { type: 'end' }
  }

  #handOut({ operation, entry, consumed }: Outcome): void {
    const order = this.#replay.handOut()
    if (entry === null) this.#saveResolves(order)
    const recorded = entry === null ? null : { ...entry, epoch: this.#host.run.epoch, order }
    if (recorded !== null) this.#host.record(recorded)
    this.#host.consume(consumed)
    this.#settle(operation, order, recorded, false)
  }

  /** The save has recorded the place at which it expected to resolve; if another outcome took that, this is the place. */
  #saveResolves(order: number): void {
    const { run, env } = this.#host
    if (this.pending.nextSave?.place !== order) this.#host.record(savedHere(order, run.epoch, env.now()))
    this.pending.shiftSave()
  }

  #settle(operation: Operation, order: number, entry: Entry | null, replayed: boolean): void {
    this.#host.observe({ type: 'handed-out', key: operation.key, order, replayed })
    this.pending.forget(operation.key)
    this.lastAttempts = entry?.attempts ?? []
    operation.settle(entry)
  }

  /** The function has ended: the run ends once what still runs has ended too. */
  #windUp(): Turn {
    const error = this.#interrupt.requested ? null : this.#replay.endedEarly()
    if (error !== null) return { type: 'mismatch', error }
    this.#recordUnawaited()
    return this.pending.inPhase('busy').length > 0 ? { type: 'wait', dueAt: null } : { type: 'end' }
  }

  /** Outcomes that nobody waits for are recorded, but the function is not there any more to be given them. */
  #recordUnawaited(): void {
    for (let outcome = this.pending.takeOutcome(); outcome; outcome = this.pending.takeOutcome()) {
      this.pending.forget(outcome.operation.key)
      if (outcome.entry !== null) this.#host.record({ ...outcome.entry, order: null })
      this.#host.consume(outcome.consumed)
    }
  }

  #deadlinePassed(): boolean {
    const { env, run } = this.#host
    return run.deadline !== null && env.now() >= run.deadline
  }

  /** Throws a requested interrupt into the function, wherever it waits. Returns whether it did. */
  #throwInterrupt(): boolean {
    if (!this.#interrupt.requested || this.#interrupt.thrown) return false
    const { reason } = this.#interrupt
    if (!this.#abort.aborted) {
      this.#abort.abort(reason)
      for (const operation of this.pending.inPhase('busy')) operation.interrupt(reason)
    }
    const targets = this.pending.interruptible()
    if (targets.length === 0) return false
    this.#host.record(this.#interrupt.recordThrow(this.#replay.handOut(), targets, this.#host.env.now()))
    this.#throwAt(targets)
    return true
  }

  #throwAt(keys: readonly string[]): void {
    // What the function sees has been through the codec, as on a replay.
    const reason = decodeError(encodeError(this.#interrupt.reason))
    this.#abort.abort(reason)
    for (const key of keys) {
      const operation = this.pending.get(key)
      if (operation === undefined) continue
      operation.interrupt(reason)
      this.pending.forget(key)
      operation.reject(reason)
    }
  }
}

function earlier(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}
