/** What statements read, as the server counts it: never a whole table, and no more because there is more in it. */
import { expect, test } from 'vitest'
import { type Ground, ground, newRun } from './kit.ts'

const NOW = 1_000_000
const isLong = process.env['PERDURE_LONG'] !== undefined
const CROWD = isLong ? 1_000_000 : 20_000

test('parked, finished and foreign runs cost a claim, a look and a sweep nothing', async () => {
  const empty = await prepared(0)
  const crowded = await prepared(CROWD)
  for (const call of calls) {
    const few = await cost(empty, call)
    const many = await cost(crowded, call)
    expect([call, many.seq_scan]).toEqual([call, 0])
    // What was undone before leaves some rows behind.
    expect(many.fetched, call).toBeLessThan(few.fetched + 50)
  }
}, 900_000)

if (isLong) {
  test('a claim among two million others, and pruning them', async () => {
    const { open, sql, schema } = await prepared(CROWD)
    const store = open()
    const times: number[] = []
    for (let i = 0; i < 500; i++) {
      await store.commit([{ type: 'create', run: newRun(`due-${i}`, NOW), claimedBy: null }], NOW)
      const startedAt = performance.now()
      const claimed = await store.claim({
        worker: 'me',
        workflows: [{ name: 'w', version: '' }],
        queues: null,
        limit: 10,
        now: NOW,
      })
      times.push(performance.now() - startedAt)
      expect(claimed.length).toBeGreaterThan(0)
    }
    times.sort((a, b) => a - b)
    console.log(`plans.test.ts: claims p50 ${times[250]?.toFixed(2)} ms, p99 ${times[495]?.toFixed(2)} ms`)
    const startedAt = performance.now()
    expect(await store.prune(10 * NOW, 1_000)).toBe(1_000)
    console.log(`plans.test.ts: pruned 1,000 in ${(performance.now() - startedAt).toFixed(0)} ms`)
    expect(
      await sql(`SELECT count(*)::int AS left FROM "${schema}".perdure_runs WHERE status = 'completed'`),
    ).toEqual([{ left: CROWD - 1_000 }])
  }, 900_000)
}

const calls = [
  `perdure_claim('me', '{w}', '{""}', NULL, 5, ${NOW})`,
  `perdure_claim('me', '{w}', '{""}', '{default}', 5, ${NOW})`,
  `perdure_next_due('{w}', '{""}', NULL)`,
  `perdure_reap(100, '{0,0,0}', ${NOW})`,
  `perdure_heartbeat('me', 1000, true, ${NOW})`,
  `perdure_prune(10, ${NOW})`,
]

/** Runs that are due, among many that are not. The statistics of the planner are as old as the tables. */
async function prepared(crowd: number): Promise<Ground> {
  const place = await ground()
  const store = place.open()
  await store.migrate()
  const due = Array.from({ length: 20 }, (_, i) => newRun(`due ${i}`, NOW - i))
  await store.commit(
    due.map((run) => ({ type: 'create', run, claimedBy: null })),
    NOW,
  )
  if (crowd > 0) await place.sql(crowdOf(place.schema, crowd))
  return place
}

function crowdOf(schema: string, size: number): string {
  const insert = (id: string, columns: string, values: string): string => `
    INSERT INTO "${schema}".perdure_runs (id, workflow, version, queue, priority, tags, attempt, epoch, deaths, fence,
      deliveries, seen, pause_requested, input, policy, retention, created_at, ${columns})
    SELECT '${id}' || n, CASE n % 3 WHEN 0 THEN 'other' ELSE 'w' END, '', 'default', 0, '[]', 1, 1, 0, 1, 0, 0, 0, '1',
      '{"retry":null,"timeout":null,"retention":1000,"call":null}', 1000, n, ${values}
    FROM generate_series(1, ${size}) AS n;`
  return (
    insert('parked ', 'status, due_at', `'waiting', ${NOW} + 1000000 + n`) +
    insert('ended ', 'status, ended_at, expires_at', `'completed', n, ${NOW} + 1 + n`)
  )
}

/** What one call reads of the runs, in a transaction that is undone. */
async function cost({ sql, schema }: Ground, call: string) {
  await sql('BEGIN')
  await sql(`SELECT * FROM "${schema}".${call}`)
  const [row] = await sql(
    `SELECT seq_scan::int, idx_tup_fetch::int AS fetched FROM pg_stat_xact_user_tables
     WHERE schemaname = $1 AND relname = 'perdure_runs'`,
    [schema],
  )
  await sql('ROLLBACK')
  return { seq_scan: Number(row?.['seq_scan']), fetched: Number(row?.['fetched']) }
}
