import type { Entry, RunRecord } from '../core/run.ts'
import type { Environment } from '../ports/environment.ts'
import type { EngineEvent } from '../ports/observer.ts'
import type { Birth, CancelRequest } from '../ports/store.ts'
import type { EngineConfig } from './config.ts'
import type { Outcome } from './operations/operation.ts'

type OwnFields<Event> = Event extends EngineEvent ? Omit<Event, 'runId' | 'workflow' | 'fence'> : never

/** An event of one execution, whose run and fence are filled in. */
export type ExecutionEvent = OwnFields<EngineEvent>

/** What an operation may ask of the execution that it belongs to. */
export interface ExecutionHost {
  readonly run: RunRecord
  readonly env: Environment
  readonly config: EngineConfig
  readonly conductor: {
    /** How many outcomes the function has been given. */
    readonly handedOut: number
    /** At which place in the order a save will resolve if nothing comes between; `null` while the journal decides. */
    placeOf(save: { readonly key: string }): number | null
    /** Whether no other save resolves before this one. */
    isNextSave(save: { readonly key: string }): boolean
    /** A running number for everything the function asks for. */
    nextAsked(): number
    /** Says that the interrupt has reached the function by way of an operation's own failure. */
    interruptReached(): void
  }
  /** Tells the observer of something that happened in this execution. */
  observe(event: ExecutionEvent): void
  /** Whether a body is saving something at the moment. */
  readonly saving: boolean
  /** Makes an entry part of the run's next write. */
  record(entry: Entry): void
  /** Says that inbox items are held by entries now. */
  consume(itemIds: readonly string[]): void
  /** Puts an outcome in line for the function. */
  offer(outcome: Outcome): void
  /** Calls back once all that was recorded so far is durable: at once if it is. Never if the claim is lost. */
  whenDurable(callback: () => void): void
  /** Whether bodies must not be started now: the run is to pause, the engine is shutting down, the claim is over. */
  readonly holding: boolean
  /** Lets the execution look again at what is possible, e.g. because a timer changed. */
  touch(): void
  /** Creates a child run with the next write. */
  addChild(birth: Birth): void
  /** Cancels a child run with the next write. */
  addCancel(request: CancelRequest): void
  /** The claim for a child that this worker can start itself, or `null`. */
  reserve(run: Birth['run']): string | null
}
