import type { Write, WriteResult } from '../../ports/store.ts'
import { applyBatch } from './batch.ts'
import type { Context } from './connection.ts'
import { carryOut, tryToEmptyOutbox } from './outbox.ts'
import { segmentsOf } from './segments.ts'

/**
 * Applies the writes in order. Each of them is one change of one document, which either counts or does not; what it does
 * to other runs is written down in the same document first.
 */
export async function commit(
  context: Context,
  writes: readonly Write[],
  now: number,
): Promise<readonly WriteResult[]> {
  const all: WriteResult[] = []
  for (const segment of segmentsOf(writes)) {
    const { results, outgoing } = await applyBatch(context, segment, now, tryToEmptyOutbox)
    await carryOut(context, outgoing, now)
    all.push(...results)
  }
  return all
}
