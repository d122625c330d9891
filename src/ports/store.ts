/**
 * The store: the single source of truth, also of what is due.
 *
 * A store holds no policy. Which status follows, when to try again, what a duplicate means is decided in
 * `core` and written into the write; a store applies writes atomically and refuses those whose fence is old.
 * Every call that depends on time takes `now` (epoch ms). Every write is idempotent or fenced, so a caller
 * that never saw the answer may send it again.
 */
import type { Entry, InboxItem, NewRun, RunRecord, RunStatus, Transition } from '../core/run.ts'
import type { Log } from './environment.ts'
import type { Notifier } from './notifier.ts'

export type { NewRun, Transition } from '../core/run.ts'

/** A new run, optionally claimed in the same write: `running`, owned by `claimedBy`, fence 1. */
export interface Birth {
  readonly run: NewRun
  readonly claimedBy: string | null
}

/** Creates a run unless its id, or its workflow and key, exist. */
export interface CreateWrite extends Birth {
  readonly type: 'create'
}

/**
 * Moves a claimed run on. Refused as a whole (`fenced`) unless the run is `running`, owned by `worker`
 * and its fence is `fence`.
 */
export interface AdvanceWrite {
  readonly type: 'advance'
  readonly runId: string
  readonly worker: string
  readonly fence: number
  /**
   * The number of this write among those of its claim, rising from 1; the same when it is sent again. A call that
   * timed out may still be carried out after its repetition: what it brings must not replace an entry that a write of
   * a higher number has written.
   */
  readonly number: number
  /** Inserted, or replaced by key. Non-empty entries also reset the run's `deaths` to 0 if `progress`. */
  readonly entries: readonly Entry[]
  /** Whether the entries are progress, i.e. `deaths` goes back to 0. */
  readonly progress: boolean
  /** Child runs to create; one whose id exists is left as it is. */
  readonly children: readonly Birth[]
  /** Deliveries to other runs; those that are missing, ended or have the item are skipped. */
  readonly deliveries: readonly Delivery[]
  /** Made instead of `deliveries` when an accepted cancel wins over the transition (see there). */
  readonly deliveriesIfCancelled: readonly Delivery[]
  /** Other runs to cancel, as by a `cancel` control. */
  readonly cancels: readonly CancelRequest[]
  /** Ids of inbox items of this run that its entries now hold: marked consumed, their payload dropped. */
  readonly consumed: readonly string[]
  readonly to: Transition | null
}

export interface Delivery {
  readonly runId: string
  readonly item: InboxItem
}

/**
 * Delivers an item to a run, unless it has ended (but a failed or cancelled run, which may be revived, takes `child`
 * items and stays as it is). Raises its `deliveries`; a `waiting` run becomes due now (it stays `waiting`),
 * a `pending` run stays due when it was, a `paused` one stays paused.
 */
export interface DeliverWrite extends Delivery {
  readonly type: 'deliver'
}

export interface CancelRequest {
  readonly runId: string
  readonly reason: string
  /** The encoded error that a run keeps which is cancelled before it ever started. */
  readonly error: string
}

/**
 * An operator's request.
 * - `cancel`: a run that was never claimed and has no parent is cancelled at once. Any other live run keeps
 *   the reason, its `deliveries` are raised, and unless it is running it becomes `pending`, due now (also
 *   from `paused`). A second cancel changes nothing (`ok`), but takes a paused run out of its pause.
 * - `pause`: `pending` and `waiting` become `paused` (remembering which, and `dueAt`); `running` gets
 *   `pauseRequested` and its `deliveries` raised; `paused` stays.
 * - `resume`: `paused` goes back to `pausedFrom`; from `waiting` its error is cleared, and it is due now if it has
 *   unseen deliveries; a pause that is only requested is withdrawn.
 * - `revive`: `failed` or `cancelled` becomes `pending`, due now: attempt 1, epoch + 1, deaths 0; error, output,
 *   cancel reason, start, deadline, end and expiry cleared; journal kept.
 * - `wake`: `pending` and `waiting` become due now.
 * - `delete`: removes an ended run with all that belongs to it.
 */
export type ControlWrite =
  | ({ readonly type: 'control'; readonly action: 'cancel' } & CancelRequest)
  | {
      readonly type: 'control'
      readonly action: 'pause' | 'resume' | 'revive' | 'wake' | 'delete'
      readonly runId: string
    }

export type Write = CreateWrite | AdvanceWrite | DeliverWrite | ControlWrite

/** One result per write, in the order of the writes. */
export type WriteResult =
  /** Applied. For a transition, a deliver and a control: the state that the run is in now. */
  | { readonly status: 'ok'; readonly run: RunState | null }
  /** create: the run that holds the id or key. */
  | { readonly status: 'existing'; readonly run: RunRecord }
  /** deliver: an item of this id was delivered before. */
  | { readonly status: 'duplicate' }
  /** advance: the claim is over; nothing of this write was applied. */
  | { readonly status: 'fenced' }
  /** deliver, control: no such run. */
  | { readonly status: 'missing' }
  /** deliver: the run has ended. control: its state does not allow the action. */
  | { readonly status: 'refused'; readonly runStatus: RunStatus }
  /** This write cannot be stored, the others of the batch were. */
  | { readonly status: 'error'; readonly message: string }

export interface RunState {
  readonly status: RunStatus
  readonly dueAt: number | null
}

/** A workflow that a worker can execute. Runs are claimed only by workers that have their version. */
export interface WorkflowVersion {
  readonly name: string
  readonly version: string
}

export interface ClaimRequest {
  readonly worker: string
  readonly workflows: readonly WorkflowVersion[]
  /** `null`: every queue. */
  readonly queues: readonly string[] | null
  readonly limit: number
  readonly now: number
}

export interface RunJournal {
  readonly runId: string
  /** `null` if there is no such run. */
  readonly run: RunRecord | null
  /** In no particular order. Empty if the entries were not asked for. */
  readonly entries: readonly Entry[]
  /** What was delivered and is not consumed, oldest first. */
  readonly inbox: readonly InboxItem[]
}

export interface WorkerLease {
  /** One identity per start of a worker, never reused. */
  readonly id: string
  /** How long the lease lasts from `now`, in ms. 0 resigns: the worker's row is removed. */
  readonly leaseMs: number
  /** Registers the worker. Without it, a worker whose row is gone or whose lease has run out is told so. */
  readonly register: boolean
}

export interface Heartbeat {
  /** `false`: the lease had run out or was taken away. Nothing was renewed. */
  readonly alive: boolean
  /** The runs that this worker holds, so that it can notice deliveries, and claims it does not know of. */
  readonly held: readonly HeldRun[]
}

export interface HeldRun {
  readonly id: string
  readonly fence: number
  readonly deliveries: number
}

/** All conditions must hold. */
export interface RunFilter {
  readonly workflow?: string | undefined
  readonly status?: readonly RunStatus[] | undefined
  readonly key?: string | undefined
  readonly queue?: string | undefined
  readonly tag?: string | undefined
  readonly parentId?: string | undefined
  /** Created at or after, epoch ms. */
  readonly since?: number | undefined
  /** Created before, epoch ms. */
  readonly until?: number | undefined
  /** 1 … 1,000. */
  readonly limit: number
  /** From the previous page. */
  readonly cursor?: string | undefined
}

/** Newest first: by `createdAt`, then id, both descending. */
export interface RunPage {
  readonly runs: readonly RunRecord[]
  /** Pass it on for the next page; `null` on the last. */
  readonly cursor: string | null
}

/** How many runs are in which state. */
export interface RunCount {
  readonly workflow: string
  readonly queue: string
  readonly status: RunStatus
  readonly count: number
}

export interface Store {
  /** What messages call it, e.g. `sqlite (work.db)`. */
  readonly name: string
  /**
   * Brings the schema up to date, safely when several processes start at once. Idempotent. Returns the steps that were
   * taken; with `dryRun`, those that would be, and changes nothing.
   */
  migrate(options?: { readonly dryRun?: boolean }): Promise<readonly MigrationStep[]>
  /**
   * Applies the writes in order in one durable transaction. Each is applied or refused on its own. Rejects
   * only if nothing, or an unknown part, of the batch was applied: then the whole batch may be sent again.
   */
  commit(writes: readonly Write[], now: number): Promise<readonly WriteResult[]>
  /**
   * Atomically takes up to `limit` runs that are `pending` or `waiting` and due at `now`: sets them `running`,
   * sets the owner, raises the fence, and fills in `startedAt` and `deadline` on the first claim. Higher priority first,
   * then the longest due. Its cost does not grow with runs that are parked, ended, or of other workflows.
   */
  claim(request: ClaimRequest): Promise<readonly RunRecord[]>
  /** The state of these runs, each as of one moment; without `entries`, only the run and its inbox. */
  journal(runIds: readonly string[], options: { readonly entries: boolean }): Promise<readonly RunJournal[]>
  /** Renews (or registers, or ends) a worker's lease. */
  heartbeat(worker: WorkerLease, now: number): Promise<Heartbeat>
  /**
   * Frees up to `limit` running runs whose owner has no lease at `now`: `pending`, attempt + 1, deaths + 1, due as
   * `dueAfterDeath` says (`paused` from `pending` if a pause was requested); removes workers that hold none. Returns the freed ids.
   */
  reap(now: number, limit: number): Promise<readonly string[]>
  /** When the earliest run of these workflows and queues is due; `null` if none will be by itself. */
  nextDue(request: Pick<ClaimRequest, 'workflows' | 'queues'>): Promise<number | null>
  getRun(id: string): Promise<RunRecord | null>
  listRuns(filter: RunFilter): Promise<RunPage>
  stats(): Promise<readonly RunCount[]>
  /** Deletes up to `limit` ended runs whose retention is over at `now`, with journal and inbox. Returns how many. */
  prune(now: number, limit: number): Promise<number>
  /**
   * What the database's clock says, in epoch ms. The engines of all machines that share the store go by it. A store without
   * this method is used by one machine only, whose clock is the store's.
   */
  clock?(): Promise<number>
  /** Carries hints between all engines on this database, unless the engine is given another notifier. */
  notifier?(log: Log): Notifier
  /** Releases what the store holds open. Idempotent; later calls of other methods reject. */
  close(): Promise<void>
}

/** A step of a schema's history. */
export interface MigrationStep {
  /** 1, 2, 3, … */
  readonly number: number
  /** A few words on what it does. */
  readonly name: string
}
