import { InvalidArgumentError } from '../../core/errors.ts'
import type { RunRecord } from '../../core/run.ts'
import type { RunCount, RunFilter, RunJournal, RunPage } from '../../ports/store.ts'
import { compareAge, type MemoryData } from './data.ts'

/** The run, its unconsumed inbox and, if asked for, its entries. */
export function journal(data: MemoryData, runId: string, withEntries: boolean): RunJournal {
  const row = data.row(runId)
  if (row === undefined) return { runId, run: null, entries: [], inbox: [] }
  return {
    runId,
    run: row.run,
    entries: withEntries ? [...row.entries.values()] : [],
    inbox: [...row.inbox.values()],
  }
}

/** One page of runs, newest first. */
export function listRuns(data: MemoryData, filter: RunFilter): RunPage {
  const after = filter.cursor === undefined ? null : decodeCursor(filter.cursor)
  const rows = data.oldestFirst()
  const runs: RunRecord[] = []
  for (let i = rows.length - 1; i >= 0; i--) {
    const run = rows[i]?.run
    if (run === undefined || (after !== null && compareAge(run, after) >= 0)) continue
    if (!matches(run, filter)) continue
    // Only a further match proves that there is a next page.
    const last = runs.at(-1)
    if (last !== undefined && runs.length === filter.limit) return { runs, cursor: encodeCursor(last) }
    runs.push(run)
  }
  return { runs, cursor: null }
}

function matches(run: RunRecord, filter: RunFilter): boolean {
  const { workflow, status, key, queue, tag, parentId, since, until } = filter
  return (
    (workflow === undefined || run.workflow === workflow) &&
    (status === undefined || status.includes(run.status)) &&
    (key === undefined || run.key === key) &&
    (queue === undefined || run.queue === queue) &&
    (tag === undefined || run.tags.includes(tag)) &&
    (parentId === undefined || run.parentId === parentId) &&
    (since === undefined || run.createdAt >= since) &&
    (until === undefined || run.createdAt < until)
  )
}

type Position = Pick<RunRecord, 'createdAt' | 'id'>

function encodeCursor({ createdAt, id }: Position): string {
  return JSON.stringify([createdAt, id])
}

function decodeCursor(cursor: string): Position {
  const refuse = (cause?: unknown): InvalidArgumentError =>
    new InvalidArgumentError('The cursor is not one that listRuns returned. Pass it on unchanged.', { cause })
  let position: unknown
  try {
    position = JSON.parse(cursor)
  } catch (error) {
    throw refuse(error)
  }
  if (!Array.isArray(position)) throw refuse()
  const [createdAt, id] = position as unknown[]
  if (typeof createdAt !== 'number' || typeof id !== 'string') throw refuse()
  return { createdAt, id }
}

/** How many runs are in which state. */
export function stats(data: MemoryData): readonly RunCount[] {
  const counts = new Map<string, RunCount>()
  for (const { run } of data.rows()) {
    const { workflow, queue, status } = run
    const key = JSON.stringify([workflow, queue, status])
    counts.set(key, { workflow, queue, status, count: (counts.get(key)?.count ?? 0) + 1 })
  }
  return [...counts.values()]
}
