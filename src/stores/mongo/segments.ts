/** Which writes of a batch can be made in one go. Pure. */
import type { Write } from '../../ports/store.ts'
import type { Effect } from './draft.ts'
import { bytesInRun } from './limits.ts'
import { MAX_BATCH_BYTES } from './sizes.ts'

/**
 * Cuts a batch where a write needs what an earlier one did to be in the database already. What a write does to other
 * runs is done after the runs of its segment were written, and so must not be needed by later writes of the segment.
 */
export function* segmentsOf<W extends Write | Effect>(writes: readonly W[]): Generator<readonly W[]> {
  let segment: W[] = []
  let reached = new Set<string>()
  let bytes = new Map<string, number>()
  for (const write of writes) {
    const id = runIdOf(write)
    const size = (bytes.get(id) ?? 0) + bytesInRun(write)
    const tooLarge = size > MAX_BATCH_BYTES && bytes.has(id)
    if (segment.length > 0 && (reached.has(id) || tooLarge)) {
      yield segment
      segment = []
      reached = new Set()
      bytes = new Map()
    }
    segment.push(write)
    bytes.set(id, tooLarge ? bytesInRun(write) : size)
    for (const other of othersOf(write)) reached.add(other)
  }
  if (segment.length > 0) yield segment
}

export function runIdOf(write: Write | Effect): string {
  return write.type === 'create' ? write.run.id : write.runId
}

/** The runs that later writes must not find as they were before this one. */
function othersOf(write: Write | Effect): readonly string[] {
  if (write.type === 'control') return write.action === 'delete' ? [write.runId] : []
  if (write.type !== 'advance') return []
  const { children, deliveries, deliveriesIfCancelled, cancels, runId } = write
  return [
    ...children.map(({ run }) => run.id),
    ...[...deliveries, ...deliveriesIfCancelled, ...cancels].map((other) => other.runId),
  ].filter((id) => id !== runId)
}
