import type { RunStatus } from '../../core/run.ts'
import type { Write, WriteResult } from '../../ports/store.ts'
import { decoded } from '../sql/decoded.ts'
import { type RunRow, toRun } from '../sql/rows.ts'
import { type Batch, toBatch, toSingles } from './batch.ts'
import type { Connections } from './connections.ts'
import { mayConcernOneWrite } from './failures.ts'
import { sizeOf } from './size.ts'
import { touchedBy } from './touched.ts'
import { numbers } from './types.ts'

/** A batch whose texts are longer than this together, in UTF-16 units, is committed in several transactions. */
const MAX_LENGTH = 16 * 1024 * 1024

interface ResultRow {
  /** The number of the write in the batch. */
  readonly place: number
  readonly answer: WriteResult['status']
  /** For `error`: the message. */
  readonly run_status: string | null
  readonly run_due_at: number | null
  readonly run: RunRow | null
}

/** Applies the writes in order: in one round trip and one transaction, unless they are very large. */
export async function commit(
  connections: Connections,
  schema: string,
  writes: readonly Write[],
  now: number,
): Promise<readonly WriteResult[]> {
  const results: WriteResult[] = []
  for (const part of parts(writes)) results.push(...(await commitPart(connections, schema, part, now)))
  return results
}

async function commitPart(
  connections: Connections,
  schema: string,
  writes: readonly Write[],
  now: number,
): Promise<readonly WriteResult[]> {
  const touched = touchedBy(writes)
  const attempt = async (batch: Batch, oneByOne: boolean): Promise<readonly WriteResult[]> => {
    const { births, advances, entries, others, expected } = batch
    const rows = await connections.critical<ResultRow>({
      text: `SELECT * FROM ${schema}.perdure_commit($1, $2, $3, $4, $5, $6, $7)`,
      values: [listOf(births), listOf(advances), listOf(entries), listOf(others), touched, oneByOne, now],
      types: numbers,
    })
    return resultsOf(rows, expected)
  }
  try {
    return await attempt(toBatch(writes, now), false)
  } catch (error) {
    if (!mayConcernOneWrite(error instanceof Error ? error.cause : error)) throw error
    return await attempt(toSingles(writes, now), true)
  }
}

function listOf(items: readonly object[]): string | null {
  return items.length === 0 ? null : JSON.stringify(items)
}

/** The writes of each transaction. */
function* parts(writes: readonly Write[]): Generator<readonly Write[]> {
  let from = 0
  let length = 0
  for (const [index, write] of writes.entries()) {
    const size = sizeOf(write)
    if (index > from && length + size > MAX_LENGTH) {
      yield writes.slice(from, index)
      from = index
      length = 0
    }
    length += size
  }
  if (from < writes.length) yield from === 0 ? writes : writes.slice(from)
}

function resultsOf(
  rows: readonly ResultRow[],
  expected: readonly (WriteResult | null)[],
): readonly WriteResult[] {
  const answers = new Map(rows.map((row) => [row.place, toResult(row)]))
  return expected.map((ifSilent, place) => {
    const result = answers.get(place) ?? ifSilent
    if (result === null) throw new Error(`The database did not say what became of write ${place}.`)
    return result
  })
}

function toResult({ answer, run_status, run_due_at, run }: ResultRow): WriteResult {
  switch (answer) {
    case 'ok':
      return { status: 'ok', run: run_status === null ? null : stateOf(run_status, run_due_at) }
    case 'existing':
      if (run === null) throw new Error('The database named no holder of the id or key.')
      return { status: 'existing', run: toRun(decoded(run)) }
    case 'refused':
      return { status: 'refused', runStatus: run_status as RunStatus }
    case 'error':
      return { status: 'error', message: run_status ?? '' }
    default:
      return { status: answer }
  }
}

function stateOf(status: string, dueAt: number | null): { status: RunStatus; dueAt: number | null } {
  // The column holds nothing else.
  return { status: status as RunStatus, dueAt }
}
