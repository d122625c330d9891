/** How records become documents and back. Pure. */
import type { Entry, InboxItem, RunRecord } from '../../core/run.ts'
import { fromStoredText, toStoredText } from '../sql/text.ts'
import type {
  DuePlace,
  EntryElement,
  InboxDocument,
  InboxElement,
  RunDocument,
  StoredEntry,
} from './schema.ts'

/** Stands between two texts that become one: `toStoredText` writes it nowhere. */
const SEPARATOR = '\u007f|'
/** What follows directly on all texts that begin with some text and the separator. */
const AFTER_SEPARATOR = '\u007f}'

/** A value with all its texts as they are stored. The names of its fields must be ours. */
export function toStored<Value>(value: Value): Value
export function toStored(value: unknown): unknown {
  return mapTexts(value, toStoredText)
}

/** What `toStored` was given. */
export function fromStored<Value>(value: Value): Value
export function fromStored(value: unknown): unknown {
  return mapTexts(value, fromStoredText)
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, map))
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, mapTexts(field, map)]))
}

/** Roughly how many bytes a value takes, rather more than less. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + 8
  if (typeof value !== 'object' || value === null) return 9
  return Object.entries(value).reduce((sum, [name, field]) => sum + name.length + 2 + sizeOf(field), 8)
}

/** The workflow and version of runs that are claimed together. */
export function laneOf(workflow: string, version: string): string {
  return toStoredText(workflow) + SEPARATOR + toStoredText(version)
}

/** What is unique to a run with a key. */
export function dedupeOf(workflow: string, key: string): string {
  return toStoredText(key) + SEPARATOR + toStoredText(workflow)
}

/** All that `dedupeOf` makes of this key. */
export function dedupeRange(key: string): { readonly $gte: string; readonly $lt: string } {
  return { $gte: toStoredText(key) + SEPARATOR, $lt: toStoredText(key) + AFTER_SEPARATOR }
}

/** The fields that a record and its document share, except its id and tags. */
const RECORD_FIELDS = [
  ...(['workflow', 'version', 'queue', 'key', 'priority', 'status', 'dueAt', 'attempt', 'epoch'] as const),
  ...(['deaths', 'owner', 'fence', 'deliveries', 'seen', 'cancelReason', 'pauseRequested'] as const),
  ...(['pausedFrom', 'input', 'output', 'error', 'parentId', 'parentStep', 'policy', 'deadline'] as const),
  ...(['createdAt', 'startedAt', 'endedAt', 'expiresAt'] as const),
]

/** The fields in which two records differ: what to set, and what to leave out from now on. */
export interface FieldChanges {
  readonly set: Readonly<Record<string, unknown>>
  readonly unset: readonly string[]
}

export function changedFields(before: RunRecord, after: RunRecord): FieldChanges {
  const set: Record<string, unknown> = {}
  const unset: string[] = []
  for (const field of RECORD_FIELDS) {
    const value = after[field]
    if (value === before[field]) continue
    if (value === null) unset.push(field)
    else set[field] = toStored(value)
  }
  const [place, old] = [duePlace(after), duePlace(before)]
  if (place === null && old !== null) unset.push('due')
  if (place !== null && (old === null || old.at !== place.at)) set['due'] = place
  return { set, unset }
}

/** All fields of a record's document that come from the record. */
export function recordFields(run: RunRecord): Readonly<Record<string, unknown>> {
  const fields: Record<string, unknown> = {}
  for (const field of RECORD_FIELDS) {
    if (run[field] !== null) fields[field] = toStored(run[field])
  }
  if (run.tags.length > 0) fields['tags'] = toStored(run.tags)
  if (run.key !== null) fields['dedupe'] = dedupeOf(run.workflow, run.key)
  const place = duePlace(run)
  if (place !== null) fields['due'] = place
  return fields
}

function duePlace({ status, dueAt, workflow, version, queue, priority }: RunRecord): DuePlace | null {
  if (dueAt === null || (status !== 'pending' && status !== 'waiting')) return null
  return { lane: laneOf(workflow, version), queue: toStoredText(queue), priority, at: dueAt }
}

/** Reads a run. Of fields that were not read, the record holds `null` or an empty text. */
export function toRecord(document: RunDocument): RunRecord {
  return {
    id: text(document._id),
    workflow: text(document.workflow),
    version: text(document.version),
    queue: text(document.queue),
    key: textOrNull(document.key),
    priority: document.priority,
    tags: (document.tags ?? []).map(text),
    status: document.status,
    dueAt: document.dueAt ?? null,
    attempt: document.attempt,
    epoch: document.epoch,
    deaths: document.deaths,
    owner: textOrNull(document.owner),
    fence: document.fence,
    deliveries: document.deliveries,
    seen: document.seen,
    cancelReason: textOrNull(document.cancelReason),
    pauseRequested: document.pauseRequested,
    pausedFrom: document.pausedFrom ?? null,
    input: text(document.input),
    output: textOrNull(document.output),
    error: textOrNull(document.error),
    parentId: textOrNull(document.parentId),
    parentStep: textOrNull(document.parentStep),
    policy: fromStored(document.policy),
    deadline: document.deadline ?? null,
    createdAt: document.createdAt,
    startedAt: document.startedAt ?? null,
    endedAt: document.endedAt ?? null,
    expiresAt: document.expiresAt ?? null,
  }
}

/** One damaged document must not keep all others from being read. */
function text(value: string | undefined): string {
  return typeof value === 'string' ? fromStoredText(value) : ''
}

function textOrNull(value: string | undefined): string | null {
  return typeof value === 'string' ? fromStoredText(value) : null
}

export function toEntryElement(entry: Entry, rank: number, token: string): EntryElement {
  const { key, kind, status, target, childId, epoch, order, value, attempts, dueAt, startedAt, endedAt } =
    entry
  return {
    token,
    rank,
    key: toStoredText(key),
    kind,
    status,
    ...(target === null ? {} : { target: toStoredText(target) }),
    ...(childId === null ? {} : { childId: toStoredText(childId) }),
    epoch,
    ...(order === null ? {} : { order }),
    ...(value === null ? {} : { value: toStoredText(value) }),
    ...(attempts.length === 0 ? {} : { attempts: toStored(attempts) }),
    ...(dueAt === null ? {} : { dueAt }),
    startedAt,
    ...(endedAt === null ? {} : { endedAt }),
  }
}

export function toEntry(stored: StoredEntry): Entry {
  return {
    key: fromStoredText(stored.key),
    kind: stored.kind,
    status: stored.status,
    target: textOrNull(stored.target),
    childId: textOrNull(stored.childId),
    epoch: stored.epoch,
    order: stored.order ?? null,
    value: textOrNull(stored.value),
    attempts: fromStored(stored.attempts ?? []),
    dueAt: stored.dueAt ?? null,
    startedAt: stored.startedAt,
    endedAt: stored.endedAt ?? null,
  }
}

/** Of each key the entry that counts: of the highest rank, and among equals the last. */
export function newestByKey<E extends StoredEntry>(entries: Iterable<E>): Map<string, E> {
  const newest = new Map<string, E>()
  for (const entry of entries) {
    const known = newest.get(entry.key)
    if (known === undefined || known.rank <= entry.rank) newest.set(entry.key, entry)
  }
  return newest
}

export function toInboxElement(item: InboxItem, seq: number): InboxElement {
  const { id, kind, name, payload, at } = item
  return {
    id: toStoredText(id),
    seq,
    kind,
    name: toStoredText(name),
    payload: toStoredText(payload),
    at,
  }
}

export function toInboxItem({ id, kind, name, payload, at }: InboxElement | InboxDocument): InboxItem {
  return { id: text(id), kind: kind ?? 'event', name: text(name), payload: text(payload), at: at ?? 0 }
}
