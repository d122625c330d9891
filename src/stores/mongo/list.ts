import type { Filter } from 'mongodb'
import type { RunFilter, RunPage } from '../../ports/store.ts'
import { decodeCursor, pageOf } from '../sql/cursor.ts'
import { toStoredText } from '../sql/text.ts'
import type { Context } from './connection.ts'
import { dedupeOf, dedupeRange, toRecord } from './documents.ts'
import type { RunDocument } from './schema.ts'

/** One page of runs, newest first. */
export async function listRuns(
  { collections: { runs }, patience }: Context,
  filter: RunFilter,
): Promise<RunPage> {
  if (filter.status?.length === 0) return { runs: [], cursor: null }
  const documents = await runs
    .find(
      { $and: conditions(filter) },
      {
        sort: { createdAt: -1, _id: -1 },
        projection: { entries: 0, inbox: 0, taken: 0, outbox: 0 },
        limit: filter.limit + 1,
        maxTimeMS: patience.maxTimeMS,
      },
    )
    .toArray()
  return pageOf(documents.map(toRecord), filter.limit)
}

function conditions(filter: RunFilter): Filter<RunDocument>[] {
  const { workflow, status, key, queue, tag, parentId, since, until, cursor } = filter
  const found: Filter<RunDocument>[] = [{ createdAt: { $gte: since ?? Number.MIN_SAFE_INTEGER } }]
  if (until !== undefined) found.push({ createdAt: { $lt: until } })
  if (workflow !== undefined) found.push({ workflow: toStoredText(workflow) })
  if (status !== undefined) found.push({ status: { $in: [...new Set(status)] } })
  if (key !== undefined) found.push({ dedupe: keyCondition(key, workflow) })
  if (queue !== undefined) found.push({ queue: toStoredText(queue) })
  if (tag !== undefined) found.push({ tags: toStoredText(tag) })
  if (parentId !== undefined) found.push({ parentId: toStoredText(parentId) })
  if (cursor !== undefined) found.push(...after(cursor))
  return found
}

function keyCondition(key: string, workflow: string | undefined): string | ReturnType<typeof dedupeRange> {
  return workflow === undefined ? dedupeRange(key) : dedupeOf(workflow, key)
}

/** The runs that come after the place where a page ended. The first condition bounds the scan of an index. */
function after(cursor: string): Filter<RunDocument>[] {
  const { createdAt, id } = decodeCursor(cursor)
  return [
    { createdAt: { $lte: createdAt } },
    { $or: [{ createdAt: { $lt: createdAt } }, { createdAt, _id: { $lt: toStoredText(id) } }] },
  ]
}
