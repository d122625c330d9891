/** A run as one batch of writes sees it, with what the batch is to change about it. Pure. */
import type { Entry, InboxItem, RunRecord } from '../../core/run.ts'
import type { ControlWrite, CreateWrite, DeliverWrite } from '../../ports/store.ts'
import { fromStoredText, toStoredText } from '../sql/text.ts'
import { sizeOf, toEntryElement, toInboxElement, toRecord } from './documents.ts'
import type { EntryElement, InboxElement, RunDocument } from './schema.ts'
import { MOVE_BYTES } from './sizes.ts'

/** What a write to one run does to another one. */
export type Effect = CreateWrite | DeliverWrite | CancelEffect

/** A cancel that is not made again if it was made before: the run may have been revived since. */
export interface CancelEffect extends Extract<ControlWrite, { readonly action: 'cancel' }> {
  /** Of the write that asks for it. */
  readonly token: string
}

/** What was moved out of the run: which of the ids that a batch names are known there, and whether they are consumed. */
export type MovedItems = ReadonlyMap<string, { readonly taken: boolean }>

export class Draft {
  readonly id: string
  readonly uid: string
  /** The revision that the draft is based on; `null` if the run is new. */
  readonly rev: number | null
  /** Bytes that the run takes already, but for its fields that change. */
  readonly bytes: number
  /** Those of them that can be moved out. */
  readonly movable: number
  /** Whether parts of the run are, or may be, in other collections. */
  readonly isElsewhere: boolean
  /** The record before the batch; `null` if the run is new. */
  readonly before: RunRecord | null
  /** Whether input, output and error were read. */
  readonly complete: boolean
  readonly hasOutbox: boolean
  readonly recent: readonly string[]
  /** The record after the batch; `null` if it deletes the run. */
  run: RunRecord | null

  readonly entries: EntryElement[] = []
  readonly inbox: InboxElement[] = []
  readonly taken: string[] = []
  readonly effects: Effect[] = []
  /** More tokens to remember than that of the batch. */
  readonly tokens: string[] = []
  /** Bytes that the batch adds. */
  added = 0

  readonly #known: Map<string, { taken: boolean }>

  private constructor(fields: {
    readonly document: RunDocument | null
    readonly run: RunRecord
    readonly uid: string
    readonly complete: boolean
    readonly moved: MovedItems
  }) {
    const { document, run, uid, complete, moved } = fields
    this.id = run.id
    this.uid = uid
    this.rev = document?.rev ?? null
    this.bytes = (document?.size ?? 0) + (document?.bytes ?? 0)
    this.movable = document?.bytes ?? 0
    this.isElsewhere = document !== null && hasPartsElsewhere(document)
    this.before = document === null ? null : run
    this.complete = complete
    this.hasOutbox = document?.outboxAt !== undefined
    this.recent = document?.recent ?? []
    this.run = run
    this.#known = knownItems(document, moved)
  }

  /** A run that was read. */
  static of(document: RunDocument, complete: boolean, moved: MovedItems = new Map()): Draft {
    const read = toRecord(document)
    const run = complete ? read : { ...read, output: UNREAD, error: UNREAD }
    return new Draft({ document, run, uid: document.uid, complete, moved })
  }

  /** A run that is new. */
  static new(run: RunRecord, uid: string): Draft {
    return new Draft({ document: null, run, uid, complete: true, moved: new Map() })
  }

  get isChanged(): boolean {
    const lists = [this.entries, this.inbox, this.taken, this.effects]
    return this.run !== this.before || lists.some((list) => list.length > 0)
  }

  append(entries: readonly Entry[], rank: number, token: string): void {
    for (const entry of entries) this.entries.push(toEntryElement(entry, rank, token))
  }

  hasItem(id: string): boolean {
    return this.#known.has(toStoredText(id))
  }

  /** Puts an item that is not known into the inbox. `run`: the record after the delivery. */
  receive(item: InboxItem, run: RunRecord): void {
    const element = toInboxElement(item, run.deliveries)
    this.run = run
    this.inbox.push(element)
    this.#known.set(element.id, { taken: false })
    this.added += sizeOf(element)
  }

  /** Marks an item as consumed, if there is such an item that is not. */
  take(id: string): void {
    const stored = toStoredText(id)
    const item = this.#known.get(stored)
    if (item === undefined || item.taken) return
    item.taken = true
    this.taken.push(stored)
    this.added += sizeOf(stored)
  }
}

/** Stands for a value that was not read: what replaces or drops it is a change, whatever it is. */
const UNREAD = '\0unread'

function knownItems(document: RunDocument | null, moved: MovedItems): Map<string, { taken: boolean }> {
  const known = new Map<string, { taken: boolean }>()
  for (const [id, { taken }] of moved) known.set(id, { taken })
  for (const { id } of document?.inbox ?? []) known.set(id, { taken: false })
  for (const id of document?.taken ?? []) known.set(id, { taken: true })
  return known
}

/** A run whose parts are to be moved may have been left when only some of them were. */
export function hasPartsElsewhere({
  elsewhere,
  moves,
  bytes,
}: Pick<RunDocument, 'elsewhere' | 'moves' | 'bytes'>): boolean {
  return elsewhere === true || moves !== undefined || bytes > MOVE_BYTES
}

/** The id of a run from the `_id` of its document. */
export function runIdOf(documentId: string): string {
  return fromStoredText(documentId)
}
