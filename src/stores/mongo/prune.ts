import { newToken } from './batch.ts'
import type { Context } from './connection.ts'
import { Draft } from './draft.ts'
import { tryToEmptyOutbox } from './outbox.ts'
import { prepare } from './updates.ts'
import { writeRuns } from './write-runs.ts'

/** Deletes up to `limit` ended runs whose retention is over, the longest expired first. Returns how many. */
export async function prune(context: Context, now: number, limit: number): Promise<number> {
  if (limit < 1) return 0
  const documents = await context.collections.runs
    .find(
      { expiresAt: { $lte: now } },
      {
        sort: { expiresAt: 1 },
        projection: { entries: 0, inbox: 0, taken: 0, outbox: 0, input: 0, output: 0, error: 0 },
        limit,
        maxTimeMS: context.patience.maxTimeMS,
      },
    )
    .toArray()
  for (const { _id, outboxAt } of documents) if (outboxAt !== undefined) await tryToEmptyOutbox(context, _id)
  const token = newToken()
  const prepared = documents.map((document) => {
    const draft = Draft.of(document, false)
    draft.run = null
    return prepare(draft, token, now)
  })
  const outcomes = await writeRuns(context, prepared, { token, now })
  return [...outcomes.values()].filter((outcome) => outcome === 'applied').length
}
