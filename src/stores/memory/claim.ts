import type { RunRecord } from '../../core/run.ts'
import { claimed } from '../../core/run-machine.ts'
import type { ClaimRequest, Store } from '../../ports/store.ts'
import type { MemoryData } from './data.ts'
import type { Lane } from './lanes.ts'
import type { Row } from './row.ts'

/** Takes up to `limit` due runs: higher priority first, then the longest due. */
export function claim(data: MemoryData, request: ClaimRequest): readonly RunRecord[] {
  const lanes = data.lanes.matching(request)
  const runs: RunRecord[] = []
  while (runs.length < request.limit) {
    const row = firstDue(lanes, request.now)
    if (row === undefined) break
    runs.push(data.replace(row, claimed(row.run, request.worker, request.now)))
  }
  return runs
}

/** When the earliest run of these lanes is due. */
export function nextDue(data: MemoryData, request: Parameters<Store['nextDue']>[0]): number | null {
  let earliest: number | null = null
  for (const lane of data.lanes.matching(request)) {
    const at = lane.rows.first()?.at
    if (at !== undefined && (earliest === null || at < earliest)) earliest = at
  }
  return earliest
}

function firstDue(lanes: readonly Lane[], now: number): Row | undefined {
  let best: Row | undefined
  for (const lane of lanes) {
    const row = lane.rows.first()
    if (row !== undefined && row.at <= now && (best === undefined || goesBefore(row, best))) best = row
  }
  return best
}

function goesBefore(a: Row, b: Row): boolean {
  if (a.run.priority !== b.run.priority) return a.run.priority > b.run.priority
  return a.at === b.at ? a.seq < b.seq : a.at < b.at
}
