// What the reports have in common.
import { cpus, totalmem } from 'node:os'

/** The machine, on which every figure depends. */
export function machine() {
  return `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`
}

export function groups(results, keyOf) {
  const byKey = new Map()
  for (const result of results) {
    const group = byKey.get(keyOf(result)) ?? []
    byKey.set(keyOf(result), [...group, result])
  }
  return byKey.values()
}

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}
