/** Sends what was prepared for the runs of a batch, and finds out which of them were still as they had been read. */
import type { AnyBulkWriteOperation, BulkWriteResult, UpdateFilter } from 'mongodb'
import { toStoredText } from '../sql/text.ts'
import type { Context } from './connection.ts'
import type { Draft } from './draft.ts'
import { concernsOneWrite, DUPLICATE_KEY, operationErrors } from './failures.ts'
import { beginRemovals, finishRemovals } from './removals.ts'
import type { RunDocument } from './schema.ts'
import type { Prepared } from './updates.ts'

/** `lost`: another writer came first, and nothing was written; otherwise a message says why it never can be. */
export type Outcome = 'applied' | 'lost' | { readonly message: string }

export interface Attempt {
  /** Names this attempt. */
  readonly token: string
  readonly now: number
}

/** One round trip, unless another writer came in between. */
export async function writeRuns(
  context: Context,
  prepared: readonly Prepared[],
  { token, now }: Attempt,
): Promise<ReadonlyMap<Draft, Outcome>> {
  const { journal } = context.collections
  const chunks = prepared.flatMap((item) => item.chunks)
  // Before what makes them count: a process that dies in between leaves some that nobody reads.
  if (chunks.length > 0) await journal.insertMany(chunks, { ordered: false })
  const outcomes = new Map(
    (
      await allSettled([
        insertRuns(context, prepared),
        updateRuns(context, prepared, token),
        deleteRuns(context, prepared, now),
      ])
    ).flatMap((entries) => [...entries]),
  )
  const lost = prepared
    .filter(({ draft }) => outcomes.get(draft) !== 'applied')
    .flatMap((item) => item.chunks)
  if (lost.length > 0) await journal.deleteMany({ _id: { $in: lost.map(({ _id }) => _id) } })
  return outcomes
}

type Outcomes = ReadonlyMap<Draft, Outcome>

/** Waits for all, so that none goes on behind the back of whoever is told that one of them failed. */
async function allSettled<Value>(promises: readonly Promise<Value>[]): Promise<readonly Value[]> {
  await Promise.allSettled(promises)
  return await Promise.all(promises)
}

async function insertRuns(context: Context, prepared: readonly Prepared[]): Promise<Outcomes> {
  const inserts = prepared.flatMap(({ draft, operation }) =>
    operation.type === 'insert' ? [{ draft, insert: { insertOne: { document: operation.document } } }] : [],
  )
  const { errors } = await bulkWrite(
    context,
    inserts.map(({ insert }) => insert),
  )
  return new Map(
    inserts.map(({ draft }, index) => [draft, errors.has(index) ? (errors.get(index) ?? 'lost') : 'applied']),
  )
}

async function updateRuns(context: Context, prepared: readonly Prepared[], token: string): Promise<Outcomes> {
  const updates = prepared.flatMap(({ draft, operation }) => {
    if (operation.type !== 'update') return []
    // Its shape is decided in one place, in words that the types of the driver cannot follow.
    const update = operation.update as UpdateFilter<RunDocument>
    const filter = { _id: toStoredText(draft.id), rev: operation.rev }
    return [{ draft, update: { updateOne: { filter, update } } }]
  })
  if (updates.length === 0) return new Map()
  const { result, errors } = await bulkWrite(
    context,
    updates.map(({ update }) => update),
  )
  const isComplete = result?.matchedCount === updates.length
  const applied = isComplete ? null : await findToken(context, token, updates)
  return new Map(
    updates.map(({ draft }, index) => {
      const hit = applied === null || applied.has(toStoredText(draft.id))
      return [draft, errors.get(index) ?? (hit ? 'applied' : 'lost')]
    }),
  )
}

/** The runs that remember the token: the server only tells how many it has found as they were expected. */
async function findToken(
  { collections: { runs }, patience }: Context,
  token: string,
  updates: readonly { readonly draft: Draft }[],
): Promise<ReadonlySet<string>> {
  const ids = updates.map(({ draft }) => toStoredText(draft.id))
  const found = await runs
    .find({ _id: { $in: ids }, recent: token }, { projection: { _id: 1 }, maxTimeMS: patience.maxTimeMS })
    .toArray()
  return new Set(found.map(({ _id }) => _id))
}

async function deleteRuns(context: Context, prepared: readonly Prepared[], now: number): Promise<Outcomes> {
  const deletes = prepared.flatMap(({ draft, operation }) =>
    operation.type === 'delete' ? [{ draft, rev: operation.rev }] : [],
  )
  if (deletes.length === 0) return new Map()
  const elsewhere = deletes.flatMap(({ draft }) => (draft.isElsewhere ? [draft] : []))
  await beginRemovals(context, elsewhere, now)
  const { result } = await bulkWrite(
    context,
    deletes.map(({ draft, rev }) => ({
      deleteOne: { filter: { _id: toStoredText(draft.id), rev, outboxAt: { $exists: false } } },
    })),
  )
  const isComplete = result?.deletedCount === deletes.length
  const left = isComplete ? new Set() : await findLeft(context, deletes)
  // Also of runs that know of nothing elsewhere: a process that died may have left what was never made to count.
  const gone = deletes.map(({ draft }) => draft.uid).filter((uid) => !left.has(uid))
  if (gone.length > 0) await finishRemovals(context, gone)
  return new Map(deletes.map(({ draft }) => [draft, left.has(draft.uid) ? 'lost' : 'applied']))
}

async function findLeft(
  { collections: { runs }, patience }: Context,
  deletes: readonly { readonly draft: Draft }[],
): Promise<ReadonlySet<string>> {
  const ids = deletes.map(({ draft }) => toStoredText(draft.id))
  const found = await runs
    .find({ _id: { $in: ids } }, { projection: { uid: 1 }, maxTimeMS: patience.maxTimeMS })
    .toArray()
  return new Set(found.map(({ uid }) => uid))
}

interface BulkOutcome {
  /** `null` if there was nothing to do, or not all of it was done. */
  readonly result: BulkWriteResult | null
  /** By the number of the operation. */
  readonly errors: ReadonlyMap<number, Outcome>
}

async function bulkWrite(
  { collections: { runs } }: Context,
  operations: readonly AnyBulkWriteOperation<RunDocument>[],
): Promise<BulkOutcome> {
  if (operations.length === 0) return { result: null, errors: new Map() }
  try {
    return { result: await runs.bulkWrite([...operations], { ordered: false }), errors: new Map() }
  } catch (error) {
    const errors = operationErrors(error)
    if (errors === null) throw error
    return { result: null, errors: new Map(errors.map((item) => [item.index, outcomeOf(item, error)])) }
  }
}

function outcomeOf(
  { code, message }: { readonly code: number; readonly message: string },
  error: unknown,
): Outcome {
  if (code === DUPLICATE_KEY) return 'lost'
  if (concernsOneWrite(code)) return { message }
  throw error
}
