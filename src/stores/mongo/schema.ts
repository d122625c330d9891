/** The collections and what their documents hold. Texts are stored as `toStoredText` writes them; what is `null` is left out. */
import type { Collection, Db } from 'mongodb'
import type {
  AttemptRecord,
  EntryKind,
  EntryStatus,
  InboxItem,
  RunPolicy,
  RunStatus,
} from '../../core/run.ts'
import type { Migration } from '../sql/migrations.ts'

/**
 * A run with what was last written to it. Everything about a run that must change together is in this one document, which
 * the server changes atomically: hence no transaction is needed, nor a replica set.
 */
export interface RunDocument {
  readonly _id: string
  /** Names this run in other collections; another one if a run of the same id is created after it was deleted. */
  readonly uid: string
  /** Raised by every write. Each of them says which one it has seen, and is refused if it is another by then. */
  readonly rev: number
  /** The tokens of the newest writes: how a writer finds out which of its writes were applied. */
  readonly recent: readonly string[]
  /** How many bytes the parts of the run take that never change. */
  readonly size: number
  /** How many bytes `entries`, `inbox` and `taken` take. When they are many, they are moved to collections of their own. */
  readonly bytes: number
  readonly entries?: readonly (EntryElement | ChunkElement)[]
  readonly inbox?: readonly InboxElement[]
  /** Ids of consumed items. */
  readonly taken?: readonly string[]
  /** How often something was moved. */
  readonly moves?: number
  /** Whether parts of the run are in other collections. */
  readonly elsewhere?: boolean
  /** What this run's writes are still to do to other runs, oldest first. */
  readonly outbox?: readonly OutboxElement[]
  /** When the outbox was last written to. */
  readonly outboxAt?: number
  /** Where the run is in the order in which runs are claimed; only while it can be. */
  readonly due?: DuePlace
  /** Key and workflow, which no other run may have; only with a key. */
  readonly dedupe?: string

  readonly workflow: string
  readonly version: string
  readonly queue: string
  readonly key?: string
  readonly priority: number
  readonly tags?: readonly string[]
  readonly status: RunStatus
  readonly dueAt?: number
  readonly attempt: number
  readonly epoch: number
  readonly deaths: number
  readonly owner?: string
  readonly fence: number
  readonly deliveries: number
  readonly seen: number
  readonly cancelReason?: string
  readonly pauseRequested: boolean
  readonly pausedFrom?: 'pending' | 'waiting'
  readonly input?: string
  readonly output?: string
  readonly error?: string
  readonly parentId?: string
  readonly parentStep?: string
  readonly policy: RunPolicy
  readonly deadline?: number
  readonly createdAt: number
  readonly startedAt?: number
  readonly endedAt?: number
  readonly expiresAt?: number
}

export interface DuePlace {
  /** Workflow and version. */
  readonly lane: string
  readonly queue: string
  readonly priority: number
  readonly at: number
}

export interface StoredEntry {
  readonly key: string
  /** See `writeOrder`: of two entries of one key, that with the higher rank counts. */
  readonly rank: number
  readonly kind: EntryKind
  readonly status: EntryStatus
  readonly target?: string
  readonly childId?: string
  readonly epoch: number
  readonly order?: number
  readonly value?: string
  readonly attempts?: readonly AttemptRecord[]
  readonly dueAt?: number
  readonly startedAt: number
  readonly endedAt?: number
}

/** An entry as a write appended it. */
export interface EntryElement extends StoredEntry {
  readonly token: string
}

/** Stands for entries that were too many to be appended: they are in a document of the journal's collection. */
export interface ChunkElement {
  readonly token: string
  readonly chunk: string
}

export interface InboxElement extends InboxItem {
  /** Rises with every item of the run. */
  readonly seq: number
}

export interface OutboxElement {
  /** Of the write that made it. */
  readonly token: string
  /** The time of that write: what is done later is done as of then. */
  readonly at: number
  readonly effects?: readonly object[]
  /** Documents of the journal's collection that hold the effects, where they are large. */
  readonly chunks?: readonly string[]
}

/** An entry that was moved out of its run, or a chunk. */
export interface JournalDocument extends Partial<StoredEntry> {
  readonly _id: string
  /** The `uid` of the run. */
  readonly run: string
  readonly chunk?: readonly object[]
}

/** An item that was moved out of its run; once it is taken, without what was in it. */
export interface InboxDocument extends Partial<InboxElement> {
  readonly _id: string
  /** The `uid` of the run. */
  readonly run: string
  /** The item's id. */
  readonly id: string
  readonly taken?: boolean
}

export interface WorkerDocument {
  readonly _id: string
  /** When the lease runs out. */
  readonly until: number
}

/** A run that is being deleted and has documents elsewhere, so that whoever deletes it may die in between. */
export interface RemovalDocument {
  /** The `uid` of the run. */
  readonly _id: string
  readonly run: string
  readonly at: number
}

export interface MigrationDocument {
  readonly _id: number
  readonly name: string
  readonly checksum: string
  readonly appliedAt: Date
}

export interface Collections {
  readonly db: Db
  readonly runs: Collection<RunDocument>
  readonly journal: Collection<JournalDocument>
  readonly inbox: Collection<InboxDocument>
  readonly workers: Collection<WorkerDocument>
  readonly removals: Collection<RemovalDocument>
  readonly migrations: Collection<MigrationDocument>
}

/** The indexes that statements name. */
export const indexes = {
  due: 'due',
  dueByQueue: 'dueByQueue',
  dueByTime: 'dueByTime',
  status: 'status',
} as const

interface IndexDefinition {
  readonly collection: 'runs' | 'journal' | 'inbox' | 'workers'
  readonly name: string
  readonly key: Readonly<Record<string, 1 | -1>>
  readonly unique?: true
  readonly sparse?: true
  readonly partialFilterExpression?: object
}

/** What a migration's text says. */
export function indexesOf(migration: Migration): readonly IndexDefinition[] {
  return JSON.parse(migration.sql)
}

function migration(number: number, name: string, definitions: readonly IndexDefinition[]): Migration {
  return { number, name, sql: JSON.stringify(definitions) }
}

// The fields of `due` are in a document of their own because a sparse index over several fields holds all documents
// that have any of them.
export const migrations: readonly Migration[] = [
  migration(1, 'runs, journals, inboxes and leases', [
    { collection: 'runs', name: 'dedupe', key: { dedupe: 1 }, unique: true, sparse: true },
    {
      collection: 'runs',
      name: indexes.due,
      key: { 'due.lane': 1, 'due.priority': -1, 'due.at': 1 },
      sparse: true,
    },
    {
      collection: 'runs',
      name: indexes.dueByQueue,
      key: { 'due.lane': 1, 'due.queue': 1, 'due.priority': -1, 'due.at': 1 },
      sparse: true,
    },
    {
      collection: 'runs',
      name: indexes.dueByTime,
      key: { 'due.lane': 1, 'due.at': 1, 'due.queue': 1 },
      sparse: true,
    },
    { collection: 'runs', name: 'owner', key: { owner: 1 }, sparse: true },
    { collection: 'runs', name: 'expiresAt', key: { expiresAt: 1 }, sparse: true },
    { collection: 'runs', name: 'outboxAt', key: { outboxAt: 1 }, sparse: true },
    { collection: 'runs', name: 'createdAt', key: { createdAt: -1, _id: -1, workflow: 1, queue: 1 } },
    { collection: 'runs', name: 'workflow', key: { workflow: 1, createdAt: -1, _id: -1, queue: 1 } },
    {
      collection: 'runs',
      name: indexes.status,
      key: { status: 1, createdAt: -1, _id: -1, workflow: 1, queue: 1 },
    },
    {
      collection: 'runs',
      name: 'tags',
      key: { tags: 1, createdAt: -1, _id: -1 },
      partialFilterExpression: { tags: { $exists: true } },
    },
    {
      collection: 'runs',
      name: 'parentId',
      key: { parentId: 1, createdAt: -1, _id: -1 },
      partialFilterExpression: { parentId: { $exists: true } },
    },
    { collection: 'journal', name: 'run', key: { run: 1 } },
    { collection: 'inbox', name: 'run', key: { run: 1, taken: 1, seq: 1 } },
    { collection: 'workers', name: 'until', key: { until: 1 } },
  ]),
]
