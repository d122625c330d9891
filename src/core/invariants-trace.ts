/**
 * What a simulation, or a recorded test, saw happen: plain data, in the order in which it happened. The invariants
 * judge it. Times are epoch ms of the one clock that all share; processes are named, also after their death.
 */
import type { Entry, InboxItem, RunRecord } from './run.ts'

interface Happened {
  readonly at: number
  /** The process that did it. */
  readonly process: string
}

/** What made the store change a run. */
export type StoreCause =
  | 'create'
  | 'claim'
  | 'advance'
  | 'deliver'
  | 'cancel'
  | 'pause'
  | 'resume'
  | 'revive'
  | 'wake'
  | 'reap'

/** A change that the store applied to one run. */
export interface Stored extends Happened {
  readonly type: 'stored'
  readonly cause: StoreCause
  /** For an advance: the claim under which it was sent. */
  readonly claim: { readonly worker: string; readonly fence: number } | null
  /** The run as it is from now on. */
  readonly run: RunRecord
  /** For an advance, and for a run that was created with a journal: what was recorded. */
  readonly entries: readonly Entry[]
  /** For an advance: the inbox items that it says its entries hold. */
  readonly consumed: readonly string[]
  /** For a delivery: what was put into the inbox. */
  readonly item: InboxItem | null
}

/** A write that the store refused, or that changed nothing. */
export interface Refused extends Happened {
  readonly type: 'refused'
  readonly cause: StoreCause | 'delete'
  readonly runId: string
  readonly why: string
}

/** A run was removed, with all that belongs to it. */
export interface Removed extends Happened {
  readonly type: 'removed'
  readonly cause: 'delete' | 'prune'
  readonly runId: string
}

interface InExecution extends Happened {
  readonly runId: string
  readonly fence: number
}

/** What an engine tells its observer, see `EngineEvent`. */
export type Observed =
  | (InExecution & { readonly type: 'execution-started'; readonly how: 'cold' | 'hot' })
  | (InExecution & { readonly type: 'execution-left'; readonly status: string })
  | (InExecution & { readonly type: 'execution-lost' })
  | BodyStarted
  | (InExecution & {
      readonly type: 'body-ended'
      readonly key: string
      readonly attempt: number
      readonly outcome: 'succeeded' | 'failed' | 'late'
    })
  | HandedOut

/** The body of a step begins. */
export interface BodyStarted extends InExecution {
  readonly type: 'body-started'
  readonly key: string
  readonly attempt: number
  /** How many outcomes the function had been given when it asked for this step. */
  readonly after: number
}

/** An outcome was given to the function. */
export interface HandedOut extends InExecution {
  readonly type: 'handed-out'
  readonly key: string
  readonly order: number
  readonly replayed: boolean
}

/** What the body of a step did to the world: the arguments with which it called a service, so to say. */
export interface Effect extends InExecution {
  readonly type: 'effect'
  readonly key: string
  readonly args: string
}

/** What became of a process. */
export interface ProcessEvent extends Happened {
  readonly type: 'process'
  readonly what: 'started' | 'crashed' | 'frozen' | 'thawed' | 'closing' | 'closed'
}

/** A client got an answer. */
export interface Answered extends Happened {
  readonly type: 'answered'
  readonly call: 'start' | 'event' | 'cancel' | 'pause' | 'resume' | 'revive' | 'wake' | 'result'
  /** Empty if a start failed. */
  readonly runId: string
  /** `'ok'`, what `result` says of the run's end, or the code of the error. */
  readonly answer: string
  /** For an event: the id of its inbox item. */
  readonly itemId: string | null
}

/** A promise of the engine was rejected and nobody looked. */
export interface Unhandled extends Happened {
  readonly type: 'unhandled'
  readonly error: string
}

/** `healed`: no fault happens from here on. `finished`: the last event; all should have ended. */
export interface Milestone extends Happened {
  readonly type: 'healed' | 'finished'
}

export type TraceEvent =
  | Stored
  | Refused
  | Removed
  | Observed
  | Effect
  | ProcessEvent
  | Answered
  | Unhandled
  | Milestone

export type Trace = readonly TraceEvent[]

/** What is wrong, and which events show it. */
export interface Violation {
  /** The name of the invariant. */
  readonly invariant: string
  readonly message: string
  /** Indexes into the trace; the last one is where it went wrong. */
  readonly positions: readonly number[]
}

/** Something that must hold for every trace. */
export interface Invariant {
  readonly name: string
  /** One sentence: what must hold. */
  readonly about: string
  check(trace: Trace): readonly Violation[]
}

/** What a check says of one violation; the invariant's name is added to it. */
export type Finding = Omit<Violation, 'invariant'>

/** Makes an invariant of a function that yields what is wrong. */
export function invariant(name: string, about: string, find: (trace: Trace) => Iterable<Finding>): Invariant {
  return {
    name,
    about,
    check: (trace) => Array.from(find(trace), (finding) => ({ invariant: name, ...finding })),
  }
}

/** One text for several parts, so that they can be the key of a map. */
export function keyOf(...parts: readonly (string | number)[]): string {
  return JSON.stringify(parts)
}

/** The epoch of each claim, by run and fence: events of executions do not carry it. */
export class Epochs {
  readonly #claims = new Map<string, { readonly epoch: number; readonly position: number }>()

  /** Takes in an event that may be a claim. */
  take(event: TraceEvent, position: number): void {
    if (event.type !== 'stored') return
    const { run, cause } = event
    if (cause === 'claim' || (cause === 'create' && run.status === 'running')) {
      this.#claims.set(keyOf(run.id, run.fence), { epoch: run.epoch, position })
    }
  }

  /** The epoch in which the claim executes the run; 0 if the trace does not hold the claim. */
  of(claim: { readonly runId: string; readonly fence: number }): number {
    return this.#claims.get(keyOf(claim.runId, claim.fence))?.epoch ?? 0
  }

  /** Where the claim was made; -1 if the trace does not hold it. */
  positionOf(claim: { readonly runId: string; readonly fence: number }): number {
    return this.#claims.get(keyOf(claim.runId, claim.fence))?.position ?? -1
  }
}

/** Whether an entry holds what its step came to. */
export function hasOutcome(entry: Entry): boolean {
  return entry.status === 'succeeded' || entry.status === 'failed'
}
