/** Applies writes whose order among different runs does not matter, but for what they do to other runs. */
import { randomBytes } from 'node:crypto'
import type { Write, WriteResult } from '../../ports/store.ts'
import { toStoredText } from '../sql/text.ts'
import type { Context } from './connection.ts'
import type { Draft, Effect } from './draft.ts'
import { moveOut } from './moves.ts'
import { Plan, type Planned } from './plan.ts'
import { readDrafts } from './read-drafts.ts'
import { MAX_BATCH_BYTES, MOVE_BYTES } from './sizes.ts'
import { type Prepared, prepare } from './updates.ts'
import { type Outcome, writeRuns } from './write-runs.ts'

/** What the writes to one run are still to do to others; it is in the outbox of that run. */
export interface Outgoing {
  /** The `_id` of the run's document. */
  readonly documentId: string
  readonly uid: string
  readonly token: string
  readonly effects: readonly Effect[]
  /** The documents of the journal's collection that hold them, if they are large. */
  readonly chunks: readonly string[]
}

export interface BatchResult {
  readonly results: readonly WriteResult[]
  readonly outgoing: readonly Outgoing[]
}

interface Pending {
  readonly index: number
  readonly write: Write | Effect
}

/** What to do about an outbox that is found in a run. */
export type EmptyOutbox = (context: Context, documentId: string) => Promise<void>

/**
 * Two round trips: one reads the runs, one writes each of them unless it has changed in between. The writes to runs that
 * have are planned anew.
 */
export async function applyBatch(
  context: Context,
  writes: readonly (Write | Effect)[],
  now: number,
  emptyOutbox: EmptyOutbox,
): Promise<BatchResult> {
  const results: WriteResult[] = []
  const outgoing: Outgoing[] = []
  let pending: readonly Pending[] = writes.map((write, index) => ({ write, index }))
  for (let attempt = 0; pending.length > 0; attempt++) {
    await context.patience.beforeAttempt(attempt)
    const round = await applyOnce(context, pending, { now, first: attempt === 0, emptyOutbox })
    for (const [index, result] of round.results) results[index] = result
    outgoing.push(...round.outgoing)
    pending = pending.filter(({ index }) => !round.results.has(index))
  }
  return { results, outgoing }
}

interface Round {
  readonly now: number
  readonly first: boolean
  readonly emptyOutbox: EmptyOutbox
}

async function applyOnce(
  context: Context,
  pending: readonly Pending[],
  { now, first, emptyOutbox }: Round,
): Promise<{ readonly results: ReadonlyMap<number, WriteResult>; readonly outgoing: readonly Outgoing[] }> {
  const writes = pending.map(({ write }) => write)
  const token = newToken()
  const drafts = await readDrafts(context, writes, first)
  if (await relieve(context, drafts)) return { results: new Map(), outgoing: [] }
  const plan = new Plan(drafts, { now, token, newUid: newToken })
  const planned = pending.map(({ index, write }) => ({ index, ...plan.apply(write) }))
  const prepared = [...plan.drafts()]
    .filter((draft) => draft.isChanged)
    .map((draft) => prepare(draft, token, now))
  // Left by a process that is gone, or by this one, which did not hear that the batch was applied and sends it again.
  for (const draft of drafts) if (draft.hasOutbox) await emptyOutbox(context, toStoredText(draft.id))
  context.patience.check()
  const outcomes = await writeRuns(context, prepared, { token, now })
  const applied = prepared.filter(({ draft }) => outcomes.get(draft) === 'applied')
  await moveWhatIsLarge(context, applied)
  return {
    results: new Map(planned.flatMap((item) => settled(item, outcomes))),
    outgoing: applied.flatMap((item) => outgoingOf(item, token)),
  }
}

/** The result of a write, unless the run that it speaks of was not written. */
function settled(
  { index, draft, result }: Planned & { readonly index: number },
  outcomes: ReadonlyMap<Draft, Outcome>,
): readonly (readonly [number, WriteResult])[] {
  const outcome = draft === null ? undefined : outcomes.get(draft)
  if (outcome === 'lost') return []
  // The holder of a key is told whole, but was read for another write, which needed only a part of it.
  if (result.status === 'existing' && draft?.complete === false) return []
  if (outcome === undefined || outcome === 'applied') return [[index, result]]
  return [[index, { status: 'error', message: outcome.message }]]
}

function outgoingOf({ draft, chunks }: Prepared, token: string): readonly Outgoing[] {
  if (draft.effects.length === 0) return []
  const own = chunks.filter(({ _id }) => _id.includes(`!${token}.effects.`)).map(({ _id }) => _id)
  const { uid, effects } = draft
  return [{ documentId: toStoredText(draft.id), uid, token, effects, chunks: own }]
}

/** Makes room in runs that have so much to be moved that a write might not fit in. Whether it did. */
async function relieve(context: Context, drafts: readonly Draft[]): Promise<boolean> {
  const heavy = drafts.filter(({ movable }) => movable > MAX_BATCH_BYTES)
  for (const { id, uid } of heavy) await moveOut(context, toStoredText(id), uid)
  return heavy.length > 0
}

/** What is moved was written before, so an error is nobody's concern: the next write to the run tries again. */
async function moveWhatIsLarge(context: Context, applied: readonly Prepared[]): Promise<void> {
  const large = applied.filter(({ bytes }) => bytes > MOVE_BYTES)
  await Promise.allSettled(large.map(({ draft }) => moveOut(context, toStoredText(draft.id), draft.uid)))
}

/** Text that never comes twice. */
export function newToken(): string {
  return randomBytes(12).toString('base64url')
}
