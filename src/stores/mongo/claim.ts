import type { Filter, FindOptions } from 'mongodb'
import type { RunRecord } from '../../core/run.ts'
import { claimed } from '../../core/run-machine.ts'
import type { ClaimRequest } from '../../ports/store.ts'
import { toStoredText } from '../sql/text.ts'
import { newToken } from './batch.ts'
import type { Context } from './connection.ts'
import { laneOf } from './documents.ts'
import { Draft } from './draft.ts'
import { tryToEmptyOutbox } from './outbox.ts'
import { indexes, type RunDocument } from './schema.ts'
import { prepare } from './updates.ts'
import { writeRuns } from './write-runs.ts'

type Scope = Pick<ClaimRequest, 'workflows' | 'queues'>

/** The most runs that are looked at to find some which others do not want at the same moment. */
const MAX_CANDIDATES = 500

/** Takes up to `limit` due runs: higher priority first, then the longest due. */
export async function claim(context: Context, request: ClaimRequest): Promise<readonly RunRecord[]> {
  // To the server, a limit of 0 would be none.
  if (isNothing(request) || request.limit < 1) return []
  const taken: Claimed[] = []
  for (let attempt = 0, isOver = false; !isOver; attempt++) {
    const rest = { ...request, limit: request.limit - taken.length }
    const found = await claimOnce(context, rest, attempt).catch((error: unknown) => {
      // Runs that were taken must not be kept from the worker that holds them now.
      if (taken.length === 0) throw error
      return null
    })
    taken.push(...(found?.taken ?? []))
    isOver = found === null || found.wasLast || taken.length >= request.limit
  }
  return taken.sort(byPlace).map(({ run }) => run)
}

interface ClaimAttempt {
  readonly taken: readonly Claimed[]
  /** Whether no other run is due. */
  readonly wasLast: boolean
}

async function claimOnce(context: Context, request: ClaimRequest, attempt: number): Promise<ClaimAttempt> {
  await context.patience.beforeAttempt(attempt)
  const found = await (attempt === 0 ? findDue(context, request) : findElsewhere(context, request, attempt))
  const taken = await take(context, found.documents, request)
  // One that was lost may be due all the same: it may only have got something delivered.
  return { taken, wasLast: found.isAll && taken.length === found.documents.length }
}

interface Found {
  readonly documents: readonly RunDocument[]
  /** Whether these are all that are due. */
  readonly isAll: boolean
}

interface Claimed {
  readonly run: RunRecord
  readonly place: NonNullable<RunDocument['due']>
}

function byPlace({ place: a }: Claimed, { place: b }: Claimed): number {
  return a.priority === b.priority ? a.at - b.at : b.priority - a.priority
}

const READ = { entries: 0, inbox: 0, taken: 0, outbox: 0 } as const

/** The first due runs. */
async function findDue(context: Context, request: ClaimRequest): Promise<Found> {
  const { runs } = context.collections
  const documents = await runs
    .find(dueOf(request), { ...orderOf(request, context), projection: READ, limit: request.limit })
    .toArray()
  return { documents, isAll: documents.length < request.limit }
}

/** Due runs out of the way of others, who came first to the runs of the attempt before. */
async function findElsewhere(context: Context, request: ClaimRequest, attempt: number): Promise<Found> {
  const { runs } = context.collections
  const limit = Math.min(request.limit * 2 ** attempt, MAX_CANDIDATES)
  // Only what the choice needs: runs may be large.
  const places: readonly Pick<RunDocument, '_id' | 'due'>[] = await runs
    .find(dueOf(request), { ...orderOf(request, context), projection: { due: 1 }, limit })
    .toArray()
  const chosen = choose(places, request.limit).map(({ _id }) => _id)
  const filter = { ...dueOf(request), _id: { $in: chosen } }
  const documents = chosen.length === 0 ? [] : await runs.find(filter, { projection: READ }).toArray()
  return { documents, isAll: places.length < limit && documents.length === places.length }
}

/** The first ones; but among those of the lowest priority that is needed, any that are next to each other. */
function choose<Place extends Pick<RunDocument, 'due'>>(
  candidates: readonly Place[],
  limit: number,
): readonly Place[] {
  const last = candidates[Math.min(limit, candidates.length) - 1]?.due?.priority ?? 0
  const above = candidates.filter(({ due }) => (due?.priority ?? 0) > last)
  const equal = candidates.filter(({ due }) => due?.priority === last)
  const needed = limit - above.length
  const from = Math.floor(Math.random() * (Math.max(0, equal.length - needed) + 1))
  return [...above, ...equal.slice(from, from + needed)]
}

function dueOf(request: ClaimRequest): Filter<RunDocument> {
  return { ...scopeOf(request), 'due.at': { $lte: request.now } }
}

function orderOf({ queues }: Scope, { patience }: Context): FindOptions {
  return {
    sort: { 'due.priority': -1, 'due.at': 1 },
    hint: queues === null ? indexes.due : indexes.dueByQueue,
    maxTimeMS: patience.maxTimeMS,
  }
}

async function take(
  context: Context,
  documents: readonly RunDocument[],
  { worker, now }: ClaimRequest,
): Promise<readonly Claimed[]> {
  const token = newToken()
  const drafts = documents.map((document) => Draft.of(document, true))
  // What its last execution has begun must be there before the next one looks.
  for (const [index, draft] of drafts.entries()) {
    if (draft.hasOutbox) await tryToEmptyOutbox(context, documents[index]?._id ?? '')
  }
  for (const draft of drafts) if (draft.run !== null) draft.run = claimed(draft.run, worker, now)
  const outcomes = await writeRuns(
    context,
    drafts.map((draft) => prepare(draft, token, now)),
    { token, now },
  )
  return drafts.flatMap((draft, index) => {
    const place = documents[index]?.due
    if (outcomes.get(draft) !== 'applied' || draft.run === null || place === undefined) return []
    return [{ run: draft.run, place }]
  })
}

/** When the earliest run of these workflows and queues is due. */
export async function nextDue(
  { collections: { runs }, patience }: Context,
  scope: Scope,
): Promise<number | null> {
  if (isNothing(scope)) return null
  const earliest = await runs.findOne(scopeOf(scope), {
    sort: { 'due.at': 1 },
    projection: { 'due.at': 1 },
    hint: indexes.dueByTime,
    maxTimeMS: patience.maxTimeMS,
  })
  return earliest?.due?.at ?? null
}

function isNothing({ workflows, queues }: Scope): boolean {
  return workflows.length === 0 || queues?.length === 0
}

function scopeOf({ workflows, queues }: Scope): Filter<RunDocument> {
  const lanes = workflows.map(({ name, version }) => laneOf(name, version))
  return {
    'due.lane': { $in: lanes },
    ...(queues === null ? {} : { 'due.queue': { $in: queues.map(toStoredText) } }),
  }
}
