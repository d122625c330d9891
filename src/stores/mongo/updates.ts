/** What has to be sent to the server for a draft. Pure. */

import { toStoredText } from '../sql/text.ts'
import { changedFields, recordFields, sizeOf, toStored } from './documents.ts'
import type { Draft } from './draft.ts'
import type { ChunkElement, EntryElement, JournalDocument, OutboxElement, RunDocument } from './schema.ts'
import { CHUNK_BYTES, MAX_APPENDED_BYTES } from './sizes.ts'

/** How many tokens a run remembers: more than writers that meet at one run between a write and the look at what it did. */
const REMEMBERED_TOKENS = 32

/** One change of one document. */
export type RunOperation =
  | { readonly type: 'insert'; readonly document: RunDocument }
  | { readonly type: 'update'; readonly rev: number; readonly update: object }
  | { readonly type: 'delete'; readonly rev: number }

export interface Prepared {
  readonly draft: Draft
  readonly operation: RunOperation
  /** Documents that must be there before the operation makes them count. */
  readonly chunks: readonly JournalDocument[]
  /** What can be moved out of the run then, in bytes. */
  readonly bytes: number
}

/** `now`: the time of the batch; `token`: names this attempt to write it. */
export function prepare(draft: Draft, token: string, now: number): Prepared {
  if (draft.run === null) {
    return { draft, operation: { type: 'delete', rev: draft.rev ?? 0 }, chunks: [], bytes: 0 }
  }
  const entries = splitEntries(draft, token)
  const outbox = splitEffects(draft, token, now)
  const chunks = [...entries.chunks, ...outbox.chunks]
  const parts: Parts = {
    entries: entries.elements,
    bytes: draft.added + entries.bytes,
    outbox: outbox.elements,
    elsewhere: chunks.length > 0,
  }
  const operation =
    draft.rev === null || draft.before === null
      ? insertion(draft, token, now, parts)
      : update(draft, draft.before, { rev: draft.rev, token, now, ...parts })
  return { draft, operation, chunks, bytes: draft.movable + parts.bytes }
}

interface Parts {
  readonly entries: readonly (EntryElement | ChunkElement)[]
  /** What `entries` and the inbox take. */
  readonly bytes: number
  readonly outbox: readonly OutboxElement[]
  /** Whether there are chunks. */
  readonly elsewhere: boolean
}

interface Attempt {
  readonly rev: number
  readonly token: string
  readonly now: number
}

function insertion(draft: Draft, token: string, now: number, parts: Parts): RunOperation {
  const { entries, bytes, outbox } = parts
  const { id, uid, run, inbox, taken } = draft
  const fields = run === null ? {} : recordFields(run)
  const document = {
    _id: toStoredText(id),
    uid,
    rev: 1,
    recent: [token],
    size: sizeOf(fields),
    bytes,
    entries,
    inbox: inbox.filter((item) => !taken.includes(item.id)),
    taken,
    ...(parts.elsewhere ? { elsewhere: true } : {}),
    ...(outbox.length > 0 ? { outbox, outboxAt: now } : {}),
    ...fields,
  }
  // `recordFields` holds all fields that a run must have.
  return { type: 'insert', document: document as object as RunDocument }
}

function update(
  draft: Draft,
  before: NonNullable<Draft['before']>,
  { rev, token, now, elsewhere, ...parts }: Parts & Attempt,
): RunOperation {
  const { entries, bytes, outbox } = parts
  const { run, inbox, taken, tokens } = draft
  const { set, unset } = changedFields(before, run ?? before)
  const push: Record<string, object> = {
    recent: { $each: [token, ...tokens], $slice: -REMEMBERED_TOKENS },
  }
  if (entries.length > 0) push['entries'] = { $each: entries }
  if (inbox.length > 0) push['inbox'] = { $each: inbox }
  if (taken.length > 0) push['taken'] = { $each: taken }
  if (outbox.length > 0) push['outbox'] = { $each: outbox }
  const fields = {
    ...set,
    ...(outbox.length > 0 ? { outboxAt: now } : {}),
    ...(elsewhere ? { elsewhere } : {}),
  }
  return {
    type: 'update',
    rev,
    update: {
      $inc: { rev: 1, bytes },
      $push: push,
      ...(Object.keys(fields).length > 0 ? { $set: fields } : {}),
      ...(unset.length > 0 ? { $unset: Object.fromEntries(unset.map((field) => [field, ''])) } : {}),
      // A field cannot be pushed to and pulled from in one update; then the items go when the inbox is moved.
      ...(taken.length > 0 && inbox.length === 0 ? { $pull: { inbox: { id: { $in: taken } } } } : {}),
    },
  }
}

interface Split<Element> {
  readonly elements: readonly Element[]
  readonly bytes: number
  readonly chunks: readonly JournalDocument[]
}

function splitEntries({ uid, entries }: Draft, token: string): Split<EntryElement | ChunkElement> {
  const sizes = entries.map(sizeOf)
  const bytes = sum(sizes)
  if (bytes <= MAX_APPENDED_BYTES) return { elements: entries, bytes, chunks: [] }
  const chunks = chunksOf(entries, sizes, { uid, name: `${token}.entries` })
  // They count as if they were here, so that they are soon moved to where an entry can be replaced.
  return { elements: chunks.map(({ _id }) => ({ token, chunk: _id })), bytes, chunks }
}

function splitEffects({ uid, effects }: Draft, token: string, at: number): Split<OutboxElement> {
  if (effects.length === 0) return { elements: [], bytes: 0, chunks: [] }
  const stored = effects.map((effect) => toStored<object>(effect))
  const sizes = stored.map(sizeOf)
  if (sum(sizes) <= MAX_APPENDED_BYTES) {
    return { elements: [{ token, at, effects: stored }], bytes: 0, chunks: [] }
  }
  const chunks = chunksOf(stored, sizes, { uid, name: `${token}.effects` })
  return { elements: [{ token, at, chunks: chunks.map(({ _id }) => _id) }], bytes: 0, chunks }
}

/** Packs the items into documents that are not too large. */
function chunksOf(
  items: readonly object[],
  sizes: readonly number[],
  { uid, name }: { readonly uid: string; readonly name: string },
): readonly JournalDocument[] {
  const packs: object[][] = []
  let room = 0
  for (const [index, item] of items.entries()) {
    const size = sizes[index] ?? 0
    const last = packs.at(-1)
    if (last === undefined || size > room) {
      packs.push([item])
      room = CHUNK_BYTES - size
    } else {
      last.push(item)
      room -= size
    }
  }
  return packs.map((chunk, index) => ({ _id: `${uid}!${name}.${index}`, run: uid, chunk }))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
