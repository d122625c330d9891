import type { RunRecord } from '../../core/run.ts'
import type { ClaimRequest } from '../../ports/store.ts'
import { decoded } from '../sql/decoded.ts'
import { type RunRow, toRun } from '../sql/rows.ts'
import { toStoredText } from '../sql/text.ts'
import type { Connections } from './connections.ts'
import { numbers } from './types.ts'

type Scope = Pick<ClaimRequest, 'workflows' | 'queues'>

/** Takes up to `limit` due runs: higher priority first, then the longest due. */
export async function claim(
  connections: Connections,
  schema: string,
  request: ClaimRequest,
): Promise<readonly RunRecord[]> {
  const { worker, limit, now } = request
  const rows = await connections.query<RunRow>({
    text: `SELECT * FROM ${schema}.perdure_claim($1, $2, $3, $4, $5, $6)`,
    values: [toStoredText(worker), ...scopeOf(request), limit, now],
    types: numbers,
  })
  return rows.map((row) => toRun(decoded(row)))
}

/** When the earliest run of these workflows and queues is due. */
export async function nextDue(
  connections: Connections,
  schema: string,
  scope: Scope,
): Promise<number | null> {
  const [row] = await connections.query<{ due_at: number | null }>({
    text: `SELECT ${schema}.perdure_next_due($1, $2, $3) AS due_at`,
    values: [...scopeOf(scope)],
    types: numbers,
  })
  return row?.due_at ?? null
}

function scopeOf({ workflows, queues }: Scope): readonly unknown[] {
  return [
    workflows.map(({ name }) => toStoredText(name)),
    workflows.map(({ version }) => toStoredText(version)),
    queues === null ? null : queues.map(toStoredText),
  ]
}
