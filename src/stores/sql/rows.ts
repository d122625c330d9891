/** How records become rows and back, for every SQL store: column lists, row types, mapping. */
import type {
  AttemptRecord,
  Entry,
  EntryKind,
  EntryStatus,
  InboxItem,
  RunPolicy,
  RunRecord,
  RunStatus,
} from '../../core/run.ts'

/** A value that a column holds. Booleans are 0 or 1; lists and policies are JSON text. */
export type SqlValue = string | number | null

/** A row of `perdure_runs`. `timeout` and `retention` repeat parts of `policy`, for use inside statements. */
export interface RunRow {
  readonly id: string
  readonly workflow: string
  readonly version: string
  readonly queue: string
  readonly key: string | null
  readonly priority: number
  readonly tags: string
  readonly status: RunStatus
  readonly due_at: number | null
  readonly attempt: number
  readonly epoch: number
  readonly deaths: number
  readonly owner: string | null
  readonly fence: number
  readonly deliveries: number
  readonly seen: number
  readonly cancel_reason: string | null
  readonly pause_requested: number
  readonly paused_from: 'pending' | 'waiting' | null
  readonly input: string
  readonly output: string | null
  readonly error: string | null
  readonly parent_id: string | null
  readonly parent_step: string | null
  readonly policy: string
  readonly deadline: number | null
  readonly created_at: number
  readonly started_at: number | null
  readonly ended_at: number | null
  readonly expires_at: number | null
}

/** The columns of a `RunRow`, for a select list. */
export const runColumns = [
  ...[
    'id',
    'workflow',
    'version',
    'queue',
    'key',
    'priority',
    'tags',
    'status',
    'due_at',
    'attempt',
    'epoch',
  ],
  ...['deaths', 'owner', 'fence', 'deliveries', 'seen', 'cancel_reason', 'pause_requested', 'paused_from'],
  ...['input', 'output', 'error', 'parent_id', 'parent_step', 'policy', 'deadline', 'created_at'],
  ...['started_at', 'ended_at', 'expires_at'],
].join(', ')

/** Reads a run. */
export function toRun(row: RunRow): RunRecord {
  return {
    id: row.id,
    workflow: row.workflow,
    version: row.version,
    queue: row.queue,
    key: row.key,
    priority: row.priority,
    tags: parseTags(row.tags),
    status: row.status,
    dueAt: row.due_at,
    attempt: row.attempt,
    epoch: row.epoch,
    deaths: row.deaths,
    owner: row.owner,
    fence: row.fence,
    deliveries: row.deliveries,
    seen: row.seen,
    cancelReason: row.cancel_reason,
    pauseRequested: row.pause_requested === 1,
    pausedFrom: row.paused_from,
    input: row.input,
    output: row.output,
    error: row.error,
    parentId: row.parent_id,
    parentStep: row.parent_step,
    policy: parsePolicy(row.policy),
    deadline: row.deadline,
    createdAt: row.created_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    expiresAt: row.expires_at,
  }
}

/** A row of `perdure_journal`, without its run. */
export interface EntryRow {
  readonly key: string
  readonly kind: EntryKind
  readonly status: EntryStatus
  readonly target: string | null
  readonly child_id: string | null
  readonly epoch: number
  readonly position: number | null
  readonly value: string | null
  readonly attempts: string | null
  readonly due_at: number | null
  readonly started_at: number
  readonly ended_at: number | null
}

/** The columns of an `EntryRow`, in the order of `fromEntry`. */
export const entryColumns = [
  ...['key', 'kind', 'status', 'target', 'child_id', 'epoch', 'position', 'value', 'attempts', 'due_at'],
  ...['started_at', 'ended_at'],
]

/** The values of an entry, in the order of `entryColumns`. */
export function fromEntry(entry: Entry): SqlValue[] {
  return [
    entry.key,
    entry.kind,
    entry.status,
    entry.target,
    entry.childId,
    entry.epoch,
    entry.order,
    entry.value,
    // Nearly every entry has none, so they cost no text.
    entry.attempts.length === 0 ? null : JSON.stringify(entry.attempts),
    entry.dueAt,
    entry.startedAt,
    entry.endedAt,
  ]
}

/** Reads an entry. */
export function toEntry(row: EntryRow): Entry {
  return {
    key: row.key,
    kind: row.kind,
    status: row.status,
    target: row.target,
    childId: row.child_id,
    epoch: row.epoch,
    order: row.position,
    value: row.value,
    attempts: row.attempts === null ? [] : parseAttempts(row.attempts),
    dueAt: row.due_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
  }
}

/** A row of `perdure_inbox` that is not consumed. */
export interface InboxRow {
  readonly id: string
  readonly kind: InboxItem['kind']
  readonly name: string
  readonly payload: string
  readonly at: number
}

/** Reads an inbox item. */
export function toInboxItem(row: InboxRow): InboxItem {
  return { id: row.id, kind: row.kind, name: row.name, payload: row.payload, at: row.at }
}

// What these read, this package wrote: the policy, tags and attempts of a record, as JSON.

const noTags: readonly string[] = []

function parseTags(text: string): readonly string[] {
  return text === '[]' ? noTags : (readable(text) ?? noTags)
}

function parseAttempts(text: string): readonly AttemptRecord[] {
  return readable(text) ?? []
}

function parsePolicy(text: string): RunPolicy {
  return readable(text) ?? DAMAGED_POLICY
}

/** What a run gets whose policy cannot be read: no retries, and it is kept for those who look into it. */
const DAMAGED_POLICY: RunPolicy = { retry: null, timeout: null, retention: 30 * 86_400_000, call: null }

/** One damaged row must not keep all others from being claimed or listed. */
function readable<Value>(text: string): Value | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
