/** Reads what a batch of writes needs to know of runs. */

import type { Write } from '../../ports/store.ts'
import { toStoredText } from '../sql/text.ts'
import type { Context } from './connection.ts'
import { dedupeOf } from './documents.ts'
import { Draft, type Effect, type MovedItems } from './draft.ts'
import type { RunDocument } from './schema.ts'
import { runIdOf } from './segments.ts'

/** What is read of an inbox and not of a journal; the payloads that a run was created with or ended with are left out. */
const WITHOUT_LISTS = { entries: 0, outbox: 0, 'inbox.payload': 0, 'inbox.name': 0 } as const
const WITHOUT_VALUES = { ...WITHOUT_LISTS, input: 0, output: 0, error: 0 } as const

/**
 * The runs that these writes touch. Runs to be created are taken to be missing on the `first` attempt: mostly they are,
 * and if not, the server says so.
 */
export async function readDrafts(
  context: Context,
  writes: readonly (Write | Effect)[],
  first: boolean,
): Promise<readonly Draft[]> {
  const documents = await readDocuments(context, writes, first)
  const moved = await readMovedItems(context, writes, documents)
  return documents.map(({ document, complete }) => Draft.of(document, complete, moved.get(document.uid)))
}

interface Read {
  readonly document: RunDocument
  readonly complete: boolean
}

async function readDocuments(
  { collections: { runs }, patience }: Context,
  writes: readonly (Write | Effect)[],
  first: boolean,
): Promise<readonly Read[]> {
  const creates = writes.flatMap((write) => (write.type === 'create' ? [write.run] : []))
  const touched = new Set(writes.flatMap((write) => (write.type === 'create' ? [] : [runIdOf(write)])))
  const wanted = creates.filter(({ id }) => !first || touched.has(id))
  // The holder of an id or a key is told to the caller with all its values.
  const whole = new Set(wanted.map(({ id }) => id))
  const keys = wanted.flatMap(({ workflow, key }) => (key === null ? [] : [dedupeOf(workflow, key)]))
  const parts = [...touched].filter((id) => !whole.has(id))
  const { maxTimeMS } = patience
  const [complete, partial] = await Promise.all([
    whole.size === 0
      ? []
      : runs
          .find(
            { $or: [{ _id: { $in: stored(whole) } }, { dedupe: { $in: keys } }] },
            { projection: WITHOUT_LISTS, maxTimeMS },
          )
          .toArray(),
    parts.length === 0
      ? []
      : runs.find({ _id: { $in: stored(parts) } }, { projection: WITHOUT_VALUES, maxTimeMS }).toArray(),
  ])
  const found = new Map<string, Read>()
  for (const document of partial) found.set(document._id, { document, complete: false })
  for (const document of complete) found.set(document._id, { document, complete: true })
  return [...found.values()]
}

/** What the inboxes know that were moved out of their runs, of the items that the writes name; by the `uid` of the run. */
async function readMovedItems(
  { collections: { inbox }, patience }: Context,
  writes: readonly (Write | Effect)[],
  documents: readonly Read[],
): Promise<ReadonlyMap<string, MovedItems>> {
  const uids = new Map(
    documents.flatMap(({ document }) =>
      document.moves === undefined ? [] : [[document._id, document.uid] as const],
    ),
  )
  if (uids.size === 0) return new Map()
  const ids = writes.flatMap((write) => {
    const uid = uids.get(toStoredText(runIdOf(write)))
    return uid === undefined ? [] : itemsOf(write).map((item) => inboxId(uid, toStoredText(item)))
  })
  if (ids.length === 0) return new Map()
  const found = await inbox
    .find({ _id: { $in: ids } }, { projection: { run: 1, id: 1, taken: 1 }, maxTimeMS: patience.maxTimeMS })
    .toArray()
  const moved = new Map<string, Map<string, { taken: boolean }>>()
  for (const { run, id, taken } of found) {
    const items = moved.get(run) ?? new Map<string, { taken: boolean }>()
    moved.set(run, items.set(id, { taken: taken === true }))
  }
  return moved
}

/** The ids of the items of its own run that a write names. */
function itemsOf(write: Write | Effect): readonly string[] {
  if (write.type === 'deliver') return [write.item.id]
  if (write.type !== 'advance') return []
  const own = [...write.deliveries, ...write.deliveriesIfCancelled].filter(
    ({ runId }) => runId === write.runId,
  )
  return [...write.consumed, ...own.map(({ item }) => item.id)]
}

/** The `_id` of an item that was moved out of its run. */
export function inboxId(uid: string, storedItemId: string): string {
  return `${uid}:${storedItemId}`
}

function stored(ids: Iterable<string>): string[] {
  return Array.from(ids, toStoredText)
}
