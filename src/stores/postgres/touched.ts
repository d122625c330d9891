import type { Write } from '../../ports/store.ts'
import { toStoredText } from '../sql/text.ts'

/** The existing runs that a batch may change, which are to be locked before. */
export function touchedBy(writes: readonly Write[]): readonly string[] {
  const ids = new Set<string>()
  for (const write of writes) {
    if (write.type !== 'create') for (const id of changedBy(write)) ids.add(toStoredText(id))
  }
  return [...ids]
}

/**
 * Tells of a write of the batch whether it has to be applied at its place among the others, because one of them concerns
 * the same run or key.
 */
export function conflicts(writes: readonly Write[]): (write: Write) => boolean {
  // A deleted run gives its key free, whichever that was.
  if (writes.some((write) => write.type === 'control' && write.action === 'delete')) return () => true
  const seen = new Set<string>()
  const shared = new Set<string>()
  for (const write of writes) {
    for (const name of concernedBy(write)) (seen.has(name) ? shared : seen).add(name)
  }
  if (shared.size === 0) return () => false
  return (write) => concernedBy(write).some((name) => shared.has(name))
}

/** Names of all runs and keys that a write concerns. */
function concernedBy(write: Write): readonly string[] {
  if (write.type === 'create') return bornBy(write.run)
  const ids = changedBy(write).map(nameOfRun)
  return write.type === 'advance' ? [...ids, ...write.children.flatMap(({ run }) => bornBy(run))] : ids
}

function bornBy({
  id,
  workflow,
  key,
}: {
  id: string
  workflow: string
  key: string | null
}): readonly string[] {
  return key === null ? [nameOfRun(id)] : [nameOfRun(id), JSON.stringify([workflow, key])]
}

/** No name of a run looks like that of a key. */
function nameOfRun(id: string): string {
  return `run ${id}`
}

function changedBy(write: Exclude<Write, { readonly type: 'create' }>): readonly string[] {
  if (write.type !== 'advance') return [write.runId]
  const { runId, deliveries, deliveriesIfCancelled, cancels } = write
  if (deliveries.length + deliveriesIfCancelled.length + cancels.length === 0) return [runId]
  return [runId, ...[...deliveries, ...deliveriesIfCancelled, ...cancels].map((other) => other.runId)]
}
