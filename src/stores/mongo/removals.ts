/** Deletes what belongs to deleted runs in other collections, also if the process dies in between. */
import { toStoredText } from '../sql/text.ts'
import type { Context } from './connection.ts'
import { DUPLICATE_KEY, operationErrors } from './failures.ts'

/** How long whoever deletes a run is left to do so alone, in ms. */
const GRACE_MS = 60_000
const MAX_SWEPT = 100

interface Removed {
  readonly id: string
  readonly uid: string
}

/** To be called before the runs are deleted. */
export async function beginRemovals(
  { collections }: Context,
  runs: readonly Removed[],
  at: number,
): Promise<void> {
  if (runs.length === 0) return
  const documents = runs.map(({ id, uid }) => ({ _id: uid, run: toStoredText(id), at }))
  try {
    await collections.removals.insertMany(documents, { ordered: false })
  } catch (error) {
    // Somebody else is about to delete the same run.
    if (operationErrors(error)?.every(({ code }) => code === DUPLICATE_KEY) !== true) throw error
  }
}

/** To be called when runs of these `uid`s are deleted. */
export async function finishRemovals({ collections }: Context, uids: readonly string[]): Promise<void> {
  if (uids.length === 0) return
  const run = { $in: [...uids] }
  await Promise.all([collections.journal.deleteMany({ run }), collections.inbox.deleteMany({ run })])
  await collections.removals.deleteMany({ _id: run })
}

/** Finishes what processes have left that are gone. */
export async function sweepRemovals(context: Context, now: number): Promise<void> {
  const { removals, runs } = context.collections
  const maxTimeMS = context.patience.maxTimeMS
  const left = await removals.find({ at: { $lt: now - GRACE_MS } }, { limit: MAX_SWEPT, maxTimeMS }).toArray()
  if (left.length === 0) return
  const ids = left.map(({ run }) => run)
  const found = await runs.find({ _id: { $in: ids } }, { projection: { uid: 1 }, maxTimeMS }).toArray()
  const alive = new Set(found.map(({ uid }) => uid))
  await removals.deleteMany({ _id: { $in: [...alive] } })
  await finishRemovals(
    context,
    left.map(({ _id }) => _id).filter((uid) => !alive.has(uid)),
  )
}
