/** Moves journal and inbox out of the document of a run that has become large. */
import type { AnyBulkWriteOperation, Collection, Document } from 'mongodb'
import type { Context } from './connection.ts'
import { newestByKey } from './documents.ts'
import { DUPLICATE_KEY, operationErrors } from './failures.ts'
import { inboxId } from './read-drafts.ts'
import { finishRemovals } from './removals.ts'
import type { ChunkElement, Collections, EntryElement, InboxDocument, RunDocument } from './schema.ts'

type Movable = Pick<RunDocument, '_id' | 'uid' | 'bytes' | 'entries' | 'inbox' | 'taken' | 'moves'>

/**
 * What is moved is first written to its place, where it never replaces anything newer, and then taken out of the run;
 * in between it is in both. So it does not matter who does this, how often, how late, or whether it is finished.
 */
export async function moveOut(context: Context, documentId: string, uid: string): Promise<void> {
  const { collections } = context
  const document: Movable | null = await collections.runs.findOne(
    { _id: documentId, uid },
    { projection: { uid: 1, bytes: 1, entries: 1, inbox: 1, taken: 1, moves: 1 } },
  )
  if (document === null) return
  const chunks = await readChunks(context, chunkIds(document.entries ?? []))
  await copyEntries(collections, uid, inlineEntries(document, chunks))
  await copyItems(collections, document)
  const { matchedCount } = await collections.runs.updateOne(
    { _id: documentId, uid, moves: document.moves ?? { $exists: false } },
    {
      $pull: {
        entries: { token: { $in: [...new Set((document.entries ?? []).map(({ token }) => token))] } },
        inbox: { id: { $in: (document.inbox ?? []).map(({ id }) => id) } },
        taken: { $in: [...(document.taken ?? [])] },
      },
      $inc: { bytes: -document.bytes, moves: 1 },
    },
  )
  if (matchedCount === 0) return await removeOrphans(context, documentId, uid)
  if (chunks.size > 0) await collections.journal.deleteMany({ _id: { $in: [...chunks.keys()] } })
}

/** What was copied out of a run that was deleted meanwhile would stay for ever. */
async function removeOrphans(context: Context, documentId: string, uid: string): Promise<void> {
  const { runs } = context.collections
  const run = await runs.findOne({ _id: documentId, uid }, { projection: { _id: 1 } })
  if (run === null) await finishRemovals(context, [uid])
}

type Element = EntryElement | ChunkElement

function chunkIds(elements: readonly Element[]): readonly string[] {
  return elements.flatMap((element) => ('chunk' in element ? [element.chunk] : []))
}

/** The contents of these documents of the journal's collection. */
export async function readChunks(
  { collections: { journal }, patience }: Context,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly object[]>> {
  if (ids.length === 0) return new Map()
  const { maxTimeMS } = patience
  const found = await journal.find({ _id: { $in: [...ids] } }, { maxTimeMS }).toArray()
  return new Map(found.map(({ _id, chunk }) => [_id, chunk ?? []]))
}

/** The entries in a run's document, those of its chunks included, in the order in which they were written. */
export function inlineEntries(
  { entries = [] }: Pick<RunDocument, 'entries'>,
  chunks: ReadonlyMap<string, readonly object[]>,
): readonly EntryElement[] {
  return entries.flatMap((element) => {
    if (!('chunk' in element)) return [element]
    // A chunk holds what else would be here.
    return (chunks.get(element.chunk) ?? []) as readonly EntryElement[]
  })
}

/** Most entries are written once, so they are inserted; only where there is one already, the newer of the two stays. */
async function copyEntries(
  { journal }: Collections,
  uid: string,
  entries: readonly EntryElement[],
): Promise<void> {
  const documents = [...newestByKey(entries).values()].map(({ token: _, ...entry }) => ({
    _id: `${uid}:${entry.key}`,
    run: uid,
    ...entry,
  }))
  const inserts = documents.map((document) => ({ insertOne: { document } }))
  const there = await bulkWriteUnlessThere(journal, inserts)
  const replacements = documents
    .filter((_, index) => there.has(index))
    .map(({ _id, ...replacement }) => ({
      replaceOne: { filter: { _id, rank: { $lte: replacement.rank } }, replacement },
    }))
  if (replacements.length > 0) await journal.bulkWrite(replacements, { ordered: false })
}

async function copyItems(
  { inbox: items }: Collections,
  { uid, inbox = [], taken = [] }: Movable,
): Promise<void> {
  const consumed = new Set(taken)
  const fresh = inbox
    .filter(({ id }) => !consumed.has(id))
    .map(
      (item): AnyBulkWriteOperation<InboxDocument> => ({
        insertOne: { document: { _id: inboxId(uid, item.id), run: uid, ...item } },
      }),
    )
  const done = taken.map(
    (id): AnyBulkWriteOperation<InboxDocument> => ({
      replaceOne: {
        filter: { _id: inboxId(uid, id) },
        replacement: { run: uid, id, taken: true },
        upsert: true,
      },
    }),
  )
  await bulkWriteUnlessThere(items, [...fresh, ...done])
}

/** Applies all operations that do not meet a document which is there already. Returns the numbers of those that do. */
async function bulkWriteUnlessThere<Schema extends Document>(
  collection: Collection<Schema>,
  operations: readonly AnyBulkWriteOperation<Schema>[],
): Promise<ReadonlySet<number>> {
  if (operations.length === 0) return new Set()
  try {
    await collection.bulkWrite([...operations], { ordered: false })
    return new Set()
  } catch (error) {
    const errors = operationErrors(error)
    if (errors?.every(({ code }) => code === DUPLICATE_KEY) !== true) throw error
    return new Set(errors.map(({ index }) => index))
  }
}
