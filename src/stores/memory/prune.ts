import type { MemoryData } from './data.ts'

/** Deletes up to `limit` ended runs whose retention is over, the longest expired first. */
export function prune(data: MemoryData, now: number, limit: number): number {
  let count = 0
  for (; count < limit; count++) {
    const row = data.ended.first()
    if (row === undefined || row.at > now) break
    data.remove(row)
  }
  return count
}
