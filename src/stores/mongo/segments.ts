/** Which writes of a batch can be made in one go. Pure. */
import type { NewRun, Write } from '../../ports/store.ts'
import { dedupeOf } from './documents.ts'
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
    if (segment.length > 0 && (tooLarge || namesOf(write).some((name) => reached.has(name)))) {
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

/** By what this write finds runs: an id, and for a new run its key. One that is like an id only cuts needlessly. */
function namesOf(write: Write | Effect): readonly string[] {
  return write.type === 'create' ? namesOfNew(write.run) : [write.runId]
}

function namesOfNew({ id, workflow, key }: NewRun): readonly string[] {
  return key === null ? [id] : [id, dedupeOf(workflow, key)]
}

/** The runs that later writes must not find as they were before this one. */
function othersOf(write: Write | Effect): readonly string[] {
  if (write.type === 'control') return write.action === 'delete' ? [write.runId] : []
  if (write.type !== 'advance') return []
  const { children, deliveries, deliveriesIfCancelled, cancels, runId } = write
  return [
    ...children.flatMap(({ run }) => namesOfNew(run)),
    ...[...deliveries, ...deliveriesIfCancelled, ...cancels].map((other) => other.runId),
  ].filter((id) => id !== runId)
}
