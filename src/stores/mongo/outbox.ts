/** Carries out what writes to one run do to other runs. */

import { applyBatch, type Outgoing } from './batch.ts'
import type { Context } from './connection.ts'
import { fromStored } from './documents.ts'
import type { Effect } from './draft.ts'
import { readChunks } from './moves.ts'
import type { OutboxElement, RunDocument } from './schema.ts'
import { segmentsOf } from './segments.ts'

/** How long the process that wrote an outbox is left to empty it alone, in ms. */
const GRACE_MS = 5_000
const MAX_DRAINED = 100

/**
 * Makes the effects, each of which is harmless a second time, and then takes them out of the outboxes. A process that dies
 * in between leaves them there, for `drain`.
 */
export async function carryOut(context: Context, outgoing: readonly Outgoing[], now: number): Promise<void> {
  if (outgoing.length === 0) return
  for (const segment of segmentsOf(outgoing.flatMap(({ effects }) => effects))) {
    await applyBatch(context, segment, now, leaveOutbox)
  }
  await remove(context, outgoing)
}

/** The effects of two outboxes may concern each other's runs: they would be followed round and round. */
async function leaveOutbox(): Promise<void> {}

async function remove({ collections }: Context, outgoing: readonly Outgoing[]): Promise<void> {
  const operations = outgoing.flatMap(({ documentId: _id, uid, token }) => [
    {
      updateOne: {
        filter: { _id, uid, 'outbox.token': token, outbox: { $size: 1 } },
        update: { $unset: { outbox: '', outboxAt: '' } } as const,
      },
    },
    { updateOne: { filter: { _id, uid }, update: { $pull: { outbox: { token } } } } },
  ])
  await collections.runs.bulkWrite(operations)
  const chunks = outgoing.flatMap((item) => item.chunks)
  if (chunks.length > 0) await collections.journal.deleteMany({ _id: { $in: chunks } })
}

/** Empties the outboxes that were left by processes which are gone. */
export async function drain(context: Context, now: number): Promise<void> {
  const { runs } = context.collections
  // Also those that were written by a clock which has been put back since.
  const left = { $or: [{ outboxAt: { $lte: now - GRACE_MS } }, { outboxAt: { $gt: now + GRACE_MS } }] }
  const found = await runs
    .find(left, {
      projection: { _id: 1 },
      limit: MAX_DRAINED,
      maxTimeMS: context.patience.maxTimeMS,
    })
    .toArray()
  for (const { _id } of found) await tryToEmptyOutbox(context, _id)
}

/** One outbox that cannot be emptied must not hold up what has nothing to do with it. */
export async function tryToEmptyOutbox(context: Context, documentId: string): Promise<void> {
  await emptyOutbox(context, documentId).catch(() => {})
}

/** Carries out all that is in the outbox of one run. */
export async function emptyOutbox(context: Context, documentId: string): Promise<void> {
  const { runs } = context.collections
  const document: Pick<RunDocument, 'uid' | 'outbox'> | null = await runs.findOne(
    { _id: documentId },
    { projection: { uid: 1, outbox: 1 } },
  )
  if (document === null) return
  for (const element of document.outbox ?? []) {
    const outgoing = await outgoingOf(context, documentId, document.uid, element)
    // A chunk that is gone was carried out by somebody else.
    if (outgoing !== null) await carryOut(context, [outgoing], element.at)
  }
  // Left by two that took the last elements out at the same time.
  await runs.updateOne({ _id: documentId, outbox: { $size: 0 } }, { $unset: { outbox: '', outboxAt: '' } })
}

async function outgoingOf(
  context: Context,
  documentId: string,
  uid: string,
  { token, effects, chunks = [] }: OutboxElement,
): Promise<Outgoing | null> {
  const contents = await readChunks(context, chunks)
  if (contents.size < chunks.length) return null
  const stored = effects ?? chunks.flatMap((id) => contents.get(id) ?? [])
  // As they were before they were stored.
  return { documentId, uid, token, chunks, effects: fromStored(stored) as readonly Effect[] }
}
