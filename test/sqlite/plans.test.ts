import { expect, test } from 'vitest'
import { listStatement } from '../../src/stores/sql/list.ts'
import { claim, claimStatements, nextDue } from '../../src/stores/sqlite/claim.ts'
import type { Database } from '../../src/stores/sqlite/database.ts'
import { reap, reapStatements } from '../../src/stores/sqlite/leases.ts'
import { dialect } from '../../src/stores/sqlite/list.ts'
import { migrate } from '../../src/stores/sqlite/migrate.ts'
import { prune, selectExpired } from '../../src/stores/sqlite/prune.ts'
import { openDatabase } from './helpers.ts'

async function migrated(): Promise<Database> {
  const database = await openDatabase(':memory:')
  migrate(database)
  return database
}

function planOf(database: Database, sql: string): string {
  const values = [...sql.matchAll(/\?/g)].map(() => 1)
  const rows = database.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values)
  return rows.map(({ detail }) => detail).join('\n')
}

const lane = 'workflow=? AND version=?'

test.each([
  ['firstQueue', `(${lane})`],
  ['nextQueue', `(${lane} AND queue>?)`],
  ['firstLevel', `(${lane} AND queue=?)`],
  ['nextLevel', `(${lane} AND queue=? AND priority<?)`],
  ['due', `(${lane} AND queue=? AND priority=? AND due_at>? AND due_at<?)`],
] as const)('a claim finds %s by its index alone, without sorting', async (name, condition) => {
  const plan = planOf(await migrated(), claimStatements[name])
  expect(plan).toMatch(/^SEARCH perdure_runs USING (COVERING )?INDEX perdure_runs_claim/)
  expect(plan).toContain(condition)
  expect(plan).not.toContain('TEMP B-TREE')
})

test.each(Object.entries(reapStatements))('a sweep finds %s by an index', async (_name, sql) => {
  const plan = planOf(await migrated(), sql)
  expect(plan).toContain('perdure_runs_owner')
  expect(plan).not.toMatch(/SCAN perdure_runs(?! USING COVERING INDEX)/)
  expect(plan).not.toContain('TEMP B-TREE')
})

test('pruning finds what expired by its index', async () => {
  const plan = planOf(await migrated(), selectExpired)
  expect(plan).toMatch(/SEARCH perdure_runs USING .*INDEX perdure_runs_expires/)
  expect(plan).not.toContain('TEMP B-TREE')
})

test.each([
  [{}, 'perdure_runs_created'],
  [{ status: ['failed'] as const }, 'perdure_runs_status'],
  [{ status: ['failed', 'cancelled'] as const }, 'perdure_runs_status'],
  [{ key: 'k' }, 'perdure_runs_key'],
  [{ parentId: 'p' }, 'perdure_runs_parent'],
  [{ tag: 't' }, 'tag=?'],
])('a list by %j reads no more than its page', async (filter, index) => {
  expect(planOf(await migrated(), listStatement({ ...filter, limit: 10 }, dialect).sql)).toContain(index)
})

test('parked, ended and foreign runs cost a claim nothing', async () => {
  const [empty, crowded] = [await migrated(), await migrated()]
  crowd(crowded)
  const work = (database: Database): void => {
    const workflows = [{ name: 'w', version: '' }]
    expect(claim(database, { worker: 'me', workflows, queues: null, limit: 100, now: 1_000 })).toEqual([])
    nextDue(database, { workflows, queues: null })
    reap(database, 1_000, 100)
    prune(database, 1_000, 100)
  }
  // A scan of so many rows would take some thousand times as long; the machine's moods take less than a hundred.
  expect(median(() => work(crowded))).toBeLessThan(100 * median(() => work(empty)))
})

/** 200,000 runs parked for later or for good, 200,000 ended, 50,000 due ones of a workflow nobody has. */
function crowd(database: Database): void {
  const insert = (
    count: number,
    workflow: string,
    status: string,
    dueAt: string,
    expiresAt: string,
  ): void => {
    database.exec(`INSERT INTO perdure_runs (id, workflow, version, queue, priority, tags, status, due_at,
        attempt, epoch, deaths, fence, deliveries, seen, pause_requested, policy, retention, created_at,
        expires_at, input)
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
      SELECT '${workflow}-${status}-' || i, '${workflow}', '', 'q', 0, '[]', '${status}', ${dueAt},
        1, 1, 0, 1, 0, 0, 0, '{}', 1, i, ${expiresAt}, '1' FROM n`)
  }
  insert(200_000, 'w', 'waiting', 'CASE i % 2 WHEN 0 THEN 5000 + i END', 'NULL')
  insert(200_000, 'w', 'completed', 'NULL', '5000 + i')
  insert(50_000, 'foreign', 'pending', '1', 'NULL')
}

function median(work: () => void): number {
  const times = Array.from({ length: 21 }, () => {
    const start = performance.now()
    work()
    return performance.now() - start
  })
  return times.sort((a, b) => a - b)[10] ?? 0
}
