import type { RunRecord } from '../../core/run.ts'
import type { ClaimRequest } from '../../ports/store.ts'
import { type RunRow, runColumns, toRun } from '../sql/rows.ts'
import { timePlus } from '../sql/time.ts'
import type { Database } from './database.ts'

/**
 * Due runs are found by walking one partial index, (workflow, version, queue, priority, due_at), with a few
 * jumps: from queue to queue, from priority to priority, and at each the longest due first. So what is parked
 * for later, ended, or of other workflows is never looked at.
 */
const claimable = `FROM perdure_runs INDEXED BY perdure_runs_claim
  WHERE status IN ('pending', 'waiting') AND due_at IS NOT NULL AND workflow = ? AND version = ?`

/** The statements of a claim, by what they find. */
export const claimStatements = {
  firstQueue: `SELECT queue ${claimable} ORDER BY queue LIMIT 1`,
  nextQueue: `SELECT queue ${claimable} AND queue > ? ORDER BY queue LIMIT 1`,
  // The first row of a priority is its longest due.
  firstLevel: `SELECT priority, due_at ${claimable} AND queue = ? ORDER BY priority DESC, due_at LIMIT 1`,
  nextLevel: `SELECT priority, due_at ${claimable} AND queue = ? AND priority < ?
    ORDER BY priority DESC, due_at LIMIT 1`,
  due: `SELECT number, priority, due_at ${claimable} AND queue = ? AND priority = ? AND due_at <= ?
    ORDER BY due_at, number LIMIT ?`,
}

const take = `UPDATE perdure_runs SET
  status = 'running', due_at = NULL, owner = ?, fence = fence + 1, started_at = coalesce(started_at, ?),
  deadline = CASE WHEN started_at IS NULL AND timeout IS NOT NULL THEN ${timePlus('?', 'timeout')} ELSE deadline END
  WHERE number = ? RETURNING ${runColumns}`

/** The key of a stretch of the index. */
interface Lane {
  readonly workflow: string
  readonly version: string
  readonly queue: string
}

/** The runs of one priority in a lane. */
interface Level {
  readonly priority: number
  /** When its first run is due. */
  readonly due_at: number
}

interface Candidate extends Level {
  readonly number: number
}

type Scope = Pick<ClaimRequest, 'workflows' | 'queues'>

/** Takes up to `limit` due runs: higher priority first, then the longest due. */
export function claim(database: Database, request: ClaimRequest): readonly RunRecord[] {
  const { worker, now } = request
  return candidates(database, request).flatMap(({ number }) => {
    const row = database.get<RunRow>(take, worker, now, now, number)
    return row === undefined ? [] : [toRun(row)]
  })
}

/** Whether a claim would take anything. Needs no lock. */
export function anyDue(database: Database, request: ClaimRequest): boolean {
  for (const lane of lanes(database, request)) {
    for (const level of levels(database, lane)) {
      if (level.due_at <= request.now) return request.limit > 0
    }
  }
  return false
}

/** When the earliest run of these workflows and queues is due. */
export function nextDue(database: Database, scope: Scope): number | null {
  let earliest = Number.POSITIVE_INFINITY
  for (const lane of lanes(database, scope)) {
    for (const level of levels(database, lane)) earliest = Math.min(earliest, level.due_at)
  }
  return earliest === Number.POSITIVE_INFINITY ? null : earliest
}

function candidates(database: Database, request: ClaimRequest): readonly Candidate[] {
  const found: Candidate[] = []
  for (const lane of lanes(database, request)) found.push(...dueIn(database, lane, request))
  found.sort((a, b) => b.priority - a.priority || a.due_at - b.due_at || a.number - b.number)
  return found.slice(0, request.limit)
}

/** The due runs of a lane, as many as the claim could take at most. */
function dueIn(database: Database, lane: Lane, { now, limit }: ClaimRequest): readonly Candidate[] {
  const found: Candidate[] = []
  for (const { priority, due_at } of levels(database, lane)) {
    if (found.length >= limit) break
    if (due_at > now) continue
    const { workflow, version, queue } = lane
    const room = limit - found.length
    found.push(...database.all<Candidate>(claimStatements.due, workflow, version, queue, priority, now, room))
  }
  return found
}

function* levels(database: Database, { workflow, version, queue }: Lane): Generator<Level> {
  let level = database.get<Level>(claimStatements.firstLevel, workflow, version, queue)
  while (level !== undefined) {
    yield level
    level = database.get<Level>(claimStatements.nextLevel, workflow, version, queue, level.priority)
  }
}

function* lanes(database: Database, { workflows, queues }: Scope): Generator<Lane> {
  for (const { name: workflow, version } of workflows) {
    const names = queues === null ? queuesOf(database, workflow, version) : new Set(queues)
    for (const queue of names) yield { workflow, version, queue }
  }
}

function* queuesOf(database: Database, workflow: string, version: string): Generator<string> {
  let row = database.get<{ queue: string }>(claimStatements.firstQueue, workflow, version)
  while (row !== undefined) {
    yield row.queue
    row = database.get<{ queue: string }>(claimStatements.nextQueue, workflow, version, row.queue)
  }
}
