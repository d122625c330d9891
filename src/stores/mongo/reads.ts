import type { RunRecord } from '../../core/run.ts'
import type { RunCount, RunJournal } from '../../ports/store.ts'
import { fromStoredText, toStoredText } from '../sql/text.ts'
import type { Context } from './connection.ts'
import { newestByKey, toEntry, toInboxItem, toRecord } from './documents.ts'
import { hasPartsElsewhere } from './draft.ts'
import { inlineEntries } from './moves.ts'
import {
  type InboxDocument,
  indexes,
  type JournalDocument,
  type RunDocument,
  type StoredEntry,
} from './schema.ts'

/** How often a run that changes while it is read is read again. Whoever claims a run finds it at rest. */
const MAX_ATTEMPTS = 10

/** One run. */
export async function getRun({ collections, patience }: Context, id: string): Promise<RunRecord | null> {
  const document = await collections.runs.findOne(
    { _id: toStoredText(id) },
    { projection: { entries: 0, inbox: 0, taken: 0, outbox: 0 }, maxTimeMS: patience.maxTimeMS },
  )
  return document === null ? null : toRecord(document)
}

/** The runs with their unconsumed inboxes and, if asked for, their entries. */
export async function journal(
  context: Context,
  runIds: readonly string[],
  { entries }: { readonly entries: boolean },
): Promise<readonly RunJournal[]> {
  const found = new Map<string, RunJournal>()
  let wanted = [...new Set(runIds)]
  for (let attempt = 1; wanted.length > 0; attempt++) {
    context.patience.check()
    const { journals, changed } = await readJournals(context, wanted, entries)
    for (const item of journals) found.set(item.runId, item)
    wanted = attempt === MAX_ATTEMPTS ? [] : [...changed]
  }
  return runIds.map((runId) => found.get(runId) ?? { runId, run: null, entries: [], inbox: [] })
}

interface Read {
  readonly journals: readonly RunJournal[]
  /** Runs of which one part may have been read before and another after a write. */
  readonly changed: readonly string[]
}

async function readJournals(context: Context, ids: readonly string[], entries: boolean): Promise<Read> {
  const { runs } = context.collections
  const { maxTimeMS } = context.patience
  const documents = await runs
    .find(
      { _id: { $in: ids.map(toStoredText) } },
      { projection: { outbox: 0, ...(entries ? {} : { entries: 0 }) }, maxTimeMS },
    )
    .toArray()
  // Most runs are one document.
  const spread = documents.filter(hasPartsElsewhere)
  const [moved, items] = await Promise.all([
    entries ? readMovedEntries(context, spread) : [],
    readMovedItems(context, spread),
  ])
  const changed = await findChanged(context, spread)
  const [movedOf, itemsOf] = [byRun(moved), byRun(items)]
  return {
    changed,
    journals: documents.map((document) =>
      toJournal(document, movedOf.get(document.uid) ?? [], itemsOf.get(document.uid) ?? []),
    ),
  }
}

async function readMovedEntries(
  { collections, patience }: Context,
  documents: readonly RunDocument[],
): Promise<readonly JournalDocument[]> {
  if (documents.length === 0) return []
  const run = { $in: documents.map(({ uid }) => uid) }
  return await collections.journal.find({ run }, { maxTimeMS: patience.maxTimeMS }).toArray()
}

async function readMovedItems(
  { collections, patience }: Context,
  documents: readonly RunDocument[],
): Promise<readonly InboxDocument[]> {
  if (documents.length === 0) return []
  const filter = { run: { $in: documents.map(({ uid }) => uid) }, taken: { $exists: false } }
  return await collections.inbox.find(filter, { maxTimeMS: patience.maxTimeMS }).toArray()
}

/** Which of the runs are not as they were read any more. */
async function findChanged(
  { collections: { runs }, patience }: Context,
  documents: readonly RunDocument[],
): Promise<readonly string[]> {
  if (documents.length === 0) return []
  const { maxTimeMS } = patience
  const now = await runs
    .find(
      { _id: { $in: documents.map(({ _id }) => _id) } },
      { projection: { uid: 1, rev: 1, moves: 1 }, maxTimeMS },
    )
    .toArray()
  const versions = new Map(now.map(({ _id, uid, rev, moves }) => [_id, `${uid} ${rev} ${moves}`]))
  return documents
    .filter(({ _id, uid, rev, moves }) => versions.get(_id) !== `${uid} ${rev} ${moves}`)
    .map(({ _id }) => fromStoredText(_id))
}

function byRun<Document extends { readonly run: string }>(
  documents: readonly Document[],
): ReadonlyMap<string, readonly Document[]> {
  const found = new Map<string, Document[]>()
  for (const document of documents) {
    const list = found.get(document.run)
    if (list === undefined) found.set(document.run, [document])
    else list.push(document)
  }
  return found
}

function toJournal(
  document: RunDocument,
  moved: readonly JournalDocument[],
  items: readonly InboxDocument[],
): RunJournal {
  const chunks = new Map(
    moved.flatMap(({ _id, chunk }) => (chunk === undefined ? [] : [[_id, chunk] as const])),
  )
  const entries = [...moved.filter(isEntry), ...inlineEntries(document, chunks)]
  const taken = new Set(document.taken)
  // An item that is being moved is in both places.
  const inbox = new Map([...items, ...(document.inbox ?? [])].map((item) => [item.id, item]))
  return {
    runId: fromStoredText(document._id),
    run: toRecord(document),
    entries: [...newestByKey(entries).values()].map(toEntry),
    inbox: [...inbox.values()]
      .filter(({ id }) => !taken.has(id))
      .sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0))
      .map(toInboxItem),
  }
}

function isEntry(document: JournalDocument): document is JournalDocument & StoredEntry {
  return document.key !== undefined
}

/** How many runs are in which state. */
export async function stats({ collections, patience }: Context): Promise<readonly RunCount[]> {
  // The text in front keeps names that begin with a "$" from being taken for something else.
  const name = (field: string): object => ({ $concat: ['=', `$${field}`] })
  const _id = { workflow: name('workflow'), queue: name('queue'), status: '$status' }
  const groups = await collections.runs
    .aggregate<{ _id: Omit<RunCount, 'count'>; count: number }>(
      [{ $group: { _id, count: { $sum: 1 } } }],
      // It holds all that is asked for, so the runs themselves are not read.
      { hint: indexes.status, maxTimeMS: patience.maxTimeMS },
    )
    .toArray()
  return groups.map(({ _id: { workflow, queue, status }, count }) => ({
    workflow: fromStoredText(String(workflow).slice(1)),
    queue: fromStoredText(String(queue).slice(1)),
    status,
    count,
  }))
}
