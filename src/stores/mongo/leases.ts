import { reaped } from '../../core/run-machine.ts'
import type { Heartbeat, WorkerLease } from '../../ports/store.ts'
import { toStoredText } from '../sql/text.ts'
import { newToken } from './batch.ts'
import type { Context } from './connection.ts'
import { Draft, runIdOf } from './draft.ts'
import { drain, tryToEmptyOutbox } from './outbox.ts'
import { sweepRemovals } from './removals.ts'
import type { Collections } from './schema.ts'
import { prepare } from './updates.ts'
import { writeRuns } from './write-runs.ts'

/** Renews, registers or ends a worker's lease. */
export async function heartbeat(
  { collections, patience }: Context,
  worker: WorkerLease,
  now: number,
): Promise<Heartbeat> {
  const owner = toStoredText(worker.id)
  const [alive, held] = await Promise.all([
    renew(collections, worker, now),
    collections.runs
      .find({ owner }, { projection: { fence: 1, deliveries: 1 }, maxTimeMS: patience.maxTimeMS })
      .toArray(),
  ])
  return {
    alive,
    held: held.map(({ _id, fence, deliveries }) => ({ id: runIdOf(_id), fence, deliveries })),
  }
}

async function renew(
  { workers }: Collections,
  { id, leaseMs, register }: WorkerLease,
  now: number,
): Promise<boolean> {
  const _id = toStoredText(id)
  if (leaseMs === 0) {
    const gone = await workers.findOneAndDelete({ _id })
    return register || (gone !== null && gone.until > now)
  }
  const until = now + leaseMs
  if (register) {
    await workers.updateOne({ _id }, { $set: { until } }, { upsert: true })
    return true
  }
  const { matchedCount } = await workers.updateOne({ _id, until: { $gt: now } }, { $set: { until } })
  return matchedCount === 1
}

/** Frees up to `limit` runs of workers without a lease, whether it ran out or was never registered. */
export async function reap(context: Context, now: number, limit: number): Promise<readonly string[]> {
  await Promise.all([drain(context, now), sweepRemovals(context, now)])
  const dead = await findDead(context, now)
  const freed: string[] = []
  let isOver = dead.length === 0 || limit < 1
  for (let attempt = 0; !isOver; attempt++) {
    await context.patience.beforeAttempt(attempt)
    const rest = limit - freed.length
    const drafts = await readOwned(context, dead, rest)
    const ids = await free(context, drafts, { now, place: freed.length })
    freed.push(...ids)
    isOver = ids.length === rest || (drafts.length < rest && ids.length === drafts.length)
  }
  return freed
}

async function readOwned(
  { collections: { runs }, patience }: Context,
  owners: readonly string[],
  limit: number,
): Promise<readonly Draft[]> {
  const projection = { entries: 0, inbox: 0, taken: 0, outbox: 0, input: 0, output: 0, error: 0 }
  const { maxTimeMS } = patience
  const found = await runs.find({ owner: { $in: [...owners] } }, { projection, limit, maxTimeMS }).toArray()
  return found.map((document) => Draft.of(document, false))
}

/**
 * The owners of runs that have no lease. Leases that have run out are removed first: whoever has one after that holds on
 * to it, and a late heartbeat of anybody else finds nothing to renew.
 */
async function findDead(
  { collections: { runs, workers }, patience }: Context,
  now: number,
): Promise<readonly string[]> {
  await workers.deleteMany({ until: { $lte: now } })
  // Sparse, the index holds nothing but owners.
  const owners: unknown[] = await runs.distinct('owner', { owner: { $gt: '' } })
  const names = owners.filter((owner) => typeof owner === 'string')
  if (names.length === 0) return []
  const alive = await workers
    .find({ _id: { $in: names } }, { projection: { _id: 1 }, maxTimeMS: patience.maxTimeMS })
    .toArray()
  const known = new Set(alive.map(({ _id }) => _id))
  return names.filter((name) => !known.has(name))
}

async function free(
  context: Context,
  drafts: readonly Draft[],
  { now, place }: { readonly now: number; readonly place: number },
): Promise<readonly string[]> {
  const token = newToken()
  for (const [index, draft] of drafts.entries()) {
    // What the dead execution has begun must be there before the next one looks.
    if (draft.hasOutbox) await tryToEmptyOutbox(context, toStoredText(draft.id))
    if (draft.run !== null) draft.run = reaped(draft.run, place + index, now)
  }
  const prepared = drafts.map((draft) => prepare(draft, token, now))
  const outcomes = await writeRuns(context, prepared, { token, now })
  return drafts.filter((draft) => outcomes.get(draft) === 'applied').map(({ id }) => id)
}
