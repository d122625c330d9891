import assert from 'node:assert/strict'
import type { Store } from '../../ports/store.ts'
import {
  advanceOf,
  apply,
  claimIds,
  commitOne,
  createOf,
  deliverOf,
  entryOf,
  itemOf,
  journalOf,
  matches,
  refuse,
  runOf,
  started,
  T,
} from './fixture.ts'
import type { Suite } from './suite.ts'

/** Text that is only text to us, and something else to some database or language. NUL never gets this far. */
const ODD = [
  `it's "quoted" \`here\``,
  `'; DROP TABLE runs; --`,
  '%_\\',
  '\\u0041\\n',
  'line\nfeed\tand\rmore',
  '🙂 👩‍👩‍👧 é ﷽',
  'e\u0301 is not \u00e9',
  '__proto__',
  'constructor',
  'toString',
  '$set',
  '$1 :name ?',
  'a.b.$.c',
  '{"json":[1,2]}',
  '\u2028\u2029\ufeff',
  ' leading and trailing ',
  'NULL',
  '0',
  '1e3',
  'x'.repeat(1_024),
]

export function namesAndValuesTests(suite: Suite): void {
  suite.describe('names and values', () => {
    nameTests(suite)
    valueTests(suite)
  })
}

function nameTests({ scenario }: Suite): void {
  for (const odd of ODD) {
    scenario(`takes ${JSON.stringify(odd.slice(0, 40))} for any name`, async (store) => {
      const fields = {
        id: odd,
        workflow: odd,
        version: odd,
        queue: odd,
        key: odd,
        tags: [odd, 'plain'],
        parentId: odd,
        parentStep: odd,
      }
      await apply(store, createOf(fields))
      matches(await runOf(store, odd), fields)
      await refuse(store, createOf({ id: 'b', workflow: odd, key: odd }), 'existing')
      await assertFound(store, odd)
      const workflows = [{ name: odd, version: odd }]
      assert.equal(await store.nextDue({ workflows, queues: [odd] }), T)
      const [run] = await store.claim({ worker: odd, workflows, queues: [odd], limit: 5, now: T })
      assert.equal(run?.owner, odd)
      await store.heartbeat({ id: odd, leaseMs: 50, register: true }, T)
      assert.equal((await store.heartbeat({ id: odd, leaseMs: 50, register: false }, T)).held[0]?.id, odd)
      const entry = entryOf(odd, { target: odd, childId: odd })
      await apply(store, deliverOf(odd, itemOf(odd, { name: odd })))
      await apply(store, advanceOf(run, null, { entries: [entry] }))
      const journal = await journalOf(store, odd)
      assert.deepEqual(journal.entries, [entry])
      assert.deepEqual(journal.inbox, [itemOf(odd, { name: odd })])
      await apply(store, advanceOf(run, null, { consumed: [odd] }))
      assert.deepEqual((await journalOf(store, odd)).inbox, [])
    })
  }

  scenario('tells names apart that differ in case, accents, space or pattern only', async (store) => {
    const names = ['a', 'A', 'a ', ' a', 'á', 'a\u0301', '%', '_', 'a%', 'á ', '1', '1.0', '01']
    const results = await store.commit(
      names.map((name, i) => createOf({ id: name, key: name, queue: name, tags: [name], dueAt: T + i })),
      T,
    )
    assert.ok(results.every((result) => result.status === 'ok'))
    for (const name of names) {
      const page = await store.listRuns({ limit: 10, tag: name })
      assert.deepEqual(
        page.runs.map((run) => run.id),
        [name],
      )
      assert.deepEqual(await claimIds(store, { queues: [name], now: T + 99 }), [name])
    }
  })
}

async function assertFound(store: Store, odd: string): Promise<void> {
  const filters = [{ workflow: odd }, { key: odd }, { queue: odd }, { tag: odd }, { parentId: odd }]
  for (const filter of filters) {
    const { runs } = await store.listRuns({ limit: 5, ...filter })
    assert.deepEqual(
      runs.map((run) => run.id),
      [odd],
      `the filter ${JSON.stringify(filter)} must find the run`,
    )
  }
  const [count] = await store.stats()
  assert.deepEqual({ ...count }, { workflow: odd, queue: odd, status: 'pending', count: 1 })
}

function valueTests({ scenario }: Suite): void {
  for (const odd of ODD) {
    scenario(`keeps ${JSON.stringify(odd.slice(0, 40))} as a value`, async (store) => {
      const value = JSON.stringify({ [odd]: odd })
      await roundTrip(store, value)
    })
  }

  scenario('keeps values of 1 MiB', async (store) => {
    await roundTrip(store, `"${'é'.repeat(524_287)}"`)
  })

  scenario('keeps times and counts that do not fit 32 bits', async (store) => {
    const dueAt = 253_402_300_799_999
    await apply(store, createOf({ id: 'a', dueAt, priority: -2_147_483_648 }), 4_000_000_000_000)
    matches(await runOf(store, 'a'), { dueAt, priority: -2_147_483_648, createdAt: 4_000_000_000_000 })
  })

  scenario('keeps tags in order, and none as none', async (store) => {
    await apply(store, createOf({ id: 'a', tags: ['z', 'a', 'm'] }))
    await apply(store, createOf({ id: 'b', tags: [] }))
    assert.deepEqual((await runOf(store, 'a')).tags, ['z', 'a', 'm'])
    assert.deepEqual((await runOf(store, 'b')).tags, [])
  })
}

/** The value goes through every place in which a store keeps one. */
async function roundTrip(store: Store, value: string): Promise<void> {
  const run = await started(store, { id: 'a', input: value })
  const entries = [
    entryOf('one', { value, attempts: [{ attempt: 1, startedAt: T, endedAt: T, error: value }] }),
  ]
  const item = itemOf('i', { payload: value })
  await apply(store, deliverOf('a', item))
  await apply(store, advanceOf(run, null, { entries }))
  const journal = await journalOf(store, 'a')
  assert.equal(journal.run?.input, value)
  assert.deepEqual(journal.entries, entries)
  assert.deepEqual(journal.inbox, [item])
  const end = { status: 'failed', output: null, error: value, cancelled: '"c"' } as const
  assert.equal((await commitOne(store, advanceOf(run, end))).status, 'ok')
  assert.equal((await runOf(store, 'a')).error, value)
  const other = await started(store, { id: 'b' })
  await apply(store, advanceOf(other, { status: 'completed', output: value, error: null, cancelled: '"c"' }))
  assert.equal((await runOf(store, 'b')).output, value)
}
