/** The records that a store keeps. Plain data: every value in them is already encoded text. */

/** `pending` and `waiting` runs are claimable from `dueAt` on; the last three states are terminal. */
export type RunStatus = 'pending' | 'running' | 'waiting' | 'paused' | 'completed' | 'failed' | 'cancelled'

/** A run as the store holds it. Times are epoch milliseconds. */
export interface RunRecord {
  readonly id: string
  readonly workflow: string
  /** Empty when the workflow has no version. */
  readonly version: string
  readonly queue: string
  readonly key: string | null
  /** Higher first among what is due. */
  readonly priority: number
  readonly tags: readonly string[]
  readonly status: RunStatus
  /** When the run may be claimed; `null` when only a delivery or an operator can make it due. */
  readonly dueAt: number | null
  /** Number of the current attempt, from 1. A failure that is retried and a worker's death both raise it. */
  readonly attempt: number
  /** Raised when the run starts over, after a failure or by a revive; entries of earlier epochs are only memoised values. */
  readonly epoch: number
  /** Workers that died executing this run since it last made progress. */
  readonly deaths: number
  /** The worker that holds the claim. */
  readonly owner: string | null
  /** Raised by every claim. */
  readonly fence: number
  /** How many deliveries (events, child results, requests) were ever made to this run. */
  readonly deliveries: number
  /** How many of them the execution had looked at when it last wrote a transition. */
  readonly seen: number
  /** Why the run is to be cancelled; `null` when it is not. */
  readonly cancelReason: string | null
  /** An operator asked a running run to pause at its next stop. */
  readonly pauseRequested: boolean
  /** What a paused run goes back to when it is resumed; `null` unless paused. */
  readonly pausedFrom: 'pending' | 'waiting' | null
  /** Encoded input. */
  readonly input: string
  /** Encoded output, once completed. */
  readonly output: string | null
  /** Encoded error, once failed or cancelled, while paused, or of the last failed attempt. */
  readonly error: string | null
  readonly parentId: string | null
  /** The journal key of the parent's step that waits for this run. */
  readonly parentStep: string | null
  readonly policy: RunPolicy
  /** When the run must have ended; `null` without a timeout or before the first start. */
  readonly deadline: number | null
  readonly createdAt: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  /** When the ended run may be pruned. */
  readonly expiresAt: number | null
}

/** What applies to one run, fixed when it is created. Plain JSON. */
export interface RunPolicy {
  readonly retry: RetryPolicy | null
  /** Longest time from the first start to the end, in ms. */
  readonly timeout: number | null
  /** How long the ended run is kept, in ms. */
  readonly retention: number
  /** For the run of a registered function: how the calling step wants it called. */
  readonly call: CallPolicy | null
}

/** How a step body is attempted. Plain JSON. */
export interface CallPolicy {
  readonly retry: RetryPolicy
  /** Longest time of one attempt, in ms. */
  readonly timeout: number | null
  readonly atMostOnce: boolean
}

/** When a failed attempt is tried again. Plain JSON, all times in ms. */
export type RetryPolicy =
  | { readonly kind: 'schedule'; readonly delays: readonly number[]; readonly jitter?: number }
  | {
      readonly kind: 'backoff'
      /** Attempts after the first. */
      readonly retries: number
      readonly initial: number
      readonly factor: number
      readonly max: number
      /** 0 … 1: the share of each delay that is random. */
      readonly jitter: number
    }

/** What a journal entry stands for. */
export type EntryKind = 'step' | 'child' | 'sleep' | 'event' | 'value' | 'checkpoint' | 'interrupt'

/** `scheduled`: a child that was created; `running`: an at-most-once body that was started. */
export type EntryStatus = 'scheduled' | 'running' | 'waiting' | 'succeeded' | 'failed'

/** One attempt of a step that failed. */
export interface AttemptRecord {
  /** 1 for the first. */
  readonly attempt: number
  readonly startedAt: number
  readonly endedAt: number
  /** Encoded error. */
  readonly error: string
}

/** One entry of a run's journal. Written only by the execution that holds the claim. */
export interface Entry {
  /** Unique in the run: `name`, `name#2`, … ; engine-made keys start with a single `#`. */
  readonly key: string
  readonly kind: EntryKind
  readonly status: EntryStatus
  /** The function, workflow or event that the step names, or how it is done; `null` for an inline body. */
  readonly target: string | null
  /** The run that a `child` entry started. */
  readonly childId: string | null
  /** The epoch of the run in which the entry was last used. */
  readonly epoch: number
  /** Position of its outcome among all outcomes of the epoch, from 1; `null` while there is none. */
  readonly order: number | null
  /** Encoded result or error, by `status`. */
  readonly value: string | null
  /** Its failed attempts, oldest first, the newest 20. */
  readonly attempts: readonly AttemptRecord[]
  /** When a `waiting` entry is due. */
  readonly dueAt: number | null
  readonly startedAt: number
  readonly endedAt: number | null
}

/** Something that was delivered to a run and not yet consumed by it. */
export interface InboxItem {
  /** Unique in the run: makes a repeated delivery harmless. */
  readonly id: string
  readonly kind: 'event' | 'child'
  /** The event's name, or the journal key of the step that waits for the child. */
  readonly name: string
  /** Encoded payload, or the encoded `ChildOutcome`. */
  readonly payload: string
  readonly at: number
}

/** How a child ended, as it is told to its parent. */
export interface ChildOutcome {
  readonly runId: string
  readonly status: 'completed' | 'failed' | 'cancelled'
  /** Encoded output or error. */
  readonly value: string
  /** For the run of a registered function: the failed attempts of its body. */
  readonly attempts: readonly AttemptRecord[]
}

/** A run to be created. It starts as `pending`, attempt 1, fence 0. */
export interface NewRun {
  readonly id: string
  readonly workflow: string
  readonly version: string
  readonly queue: string
  readonly key: string | null
  readonly priority: number
  readonly tags: readonly string[]
  readonly input: string
  readonly policy: RunPolicy
  readonly dueAt: number
  readonly parentId: string | null
  readonly parentStep: string | null
  /** Entries that the run starts with (a fork); usually none. */
  readonly entries: readonly Entry[]
}

/** Where an advance takes its run. `null` in the write means: it goes on running. */
export type Transition =
  /**
   * Parks the run. `seen` is the number of deliveries the execution has looked at: if more have been made,
   * the run is left due now. A run whose pause was requested becomes `paused`.
   */
  | { readonly status: 'waiting'; readonly dueAt: number | null; readonly seen: number }
  /**
   * Due again at `dueAt`: the run is tried again. Pause requests apply here too; a run whose cancel was accepted is due
   * now, so that the cancel does not wait for the retry.
   */
  | {
      readonly status: 'pending'
      readonly dueAt: number
      readonly seen: number
      readonly attempt: number
      readonly epoch: number
      readonly error: string | null
    }
  /** Set aside with a reason, from `waiting`, due at once when it is resumed; one whose cancel was accepted is left due. */
  | { readonly status: 'paused'; readonly error: string | null; readonly seen: number }
  /**
   * Ends the run. `output` when completed, else `error`. If a cancel was accepted before this write, a run
   * that would end as completed or failed ends as cancelled, with `cancelled` as its error and without output.
   */
  | {
      readonly status: 'completed' | 'failed' | 'cancelled'
      readonly output: string | null
      readonly error: string | null
      /** The encoded error to keep if an accepted cancel wins. */
      readonly cancelled: string
    }

/** All statuses, in the order of a run's life. */
export const RUN_STATUSES: readonly RunStatus[] = [
  'pending',
  'running',
  'waiting',
  'paused',
  'completed',
  'failed',
  'cancelled',
]

const terminal: ReadonlySet<RunStatus> = new Set(['completed', 'failed', 'cancelled'])

/** Whether a run in this state has ended. */
export function isTerminal(status: RunStatus): status is 'completed' | 'failed' | 'cancelled' {
  return terminal.has(status)
}
