import assert from 'node:assert/strict'
import type { RunFilter, Store } from '../../ports/store.ts'
import {
  apply,
  arrived,
  completed,
  controlOf,
  createOf,
  runOf,
  sorted,
  started,
  T,
  WAITING,
} from './fixture.ts'
import type { Suite } from './suite.ts'

export function listTests(suite: Suite): void {
  suite.describe('listRuns', () => {
    filterTests(suite)
    pageTests(suite)
  })
}

async function listIds(store: Store, filter: Partial<RunFilter> = {}): Promise<readonly string[]> {
  return (await store.listRuns({ limit: 100, ...filter })).runs.map((run) => run.id)
}

/** All pages, and how many there were. */
async function allPages(
  store: Store,
  filter: RunFilter,
  between: () => Promise<void> = async () => {},
): Promise<{ readonly ids: readonly string[]; readonly pages: number }> {
  const ids: string[] = []
  let cursor: string | undefined
  for (let pages = 1; pages < 100; pages++) {
    const page = await store.listRuns({ ...filter, cursor })
    assert.ok(page.runs.length <= filter.limit, 'a page must not exceed the limit')
    ids.push(...page.runs.map((run) => run.id))
    if (page.cursor === null) return { ids, pages }
    cursor = page.cursor
    await between()
  }
  assert.fail('the pages never end')
}

function filterTests({ scenario }: Suite): void {
  scenario('returns whole records', async (store) => {
    await apply(store, createOf({ id: 'a', tags: ['red'], key: 'k' }))
    assert.deepEqual(await store.listRuns({ limit: 10 }), { runs: [await runOf(store, 'a')], cursor: null })
  })

  scenario('returns an empty page of an empty store', async (store) => {
    assert.deepEqual(await store.listRuns({ limit: 10 }), { runs: [], cursor: null })
  })

  scenario('filters by workflow, key, queue, tag and parent', async (store) => {
    await apply(store, createOf({ id: 'a', workflow: 'other', key: 'k' }))
    await apply(store, createOf({ id: 'b', queue: 'slow', key: 'k' }))
    await apply(store, createOf({ id: 'c', tags: ['red', 'blue'] }))
    await apply(store, createOf({ id: 'd', tags: ['reddish'], parentId: 'c', parentStep: 's' }))
    assert.deepEqual(await listIds(store, { workflow: 'other' }), ['a'])
    assert.deepEqual(sorted(await listIds(store, { key: 'k' })), ['a', 'b'])
    assert.deepEqual(await listIds(store, { queue: 'slow' }), ['b'])
    assert.deepEqual(await listIds(store, { tag: 'red' }), ['c'])
    assert.deepEqual(await listIds(store, { tag: 'blue' }), ['c'])
    assert.deepEqual(await listIds(store, { parentId: 'c' }), ['d'])
    assert.deepEqual(await listIds(store, { tag: 'green' }), [])
  })

  scenario('filters by one status or several', async (store) => {
    await arrived(store, 'waiting', WAITING)
    await completed(store, 'completed')
    await started(store, { id: 'running' })
    await apply(store, createOf({ id: 'pending' }))
    await apply(store, createOf({ id: 'paused' }))
    await apply(store, controlOf('pause', 'paused'))
    for (const status of ['waiting', 'completed', 'running', 'pending', 'paused'] as const) {
      assert.deepEqual(await listIds(store, { status: [status] }), [status])
    }
    const some = await listIds(store, { status: ['waiting', 'completed', 'failed'] })
    assert.deepEqual(sorted(some), ['completed', 'waiting'])
    assert.deepEqual(await listIds(store, { status: [] }), [])
  })

  scenario('filters by creation: since is included, until is not', async (store) => {
    for (const at of [1, 2, 3]) await apply(store, createOf({ id: `at-${at}` }), T + at)
    assert.deepEqual(await listIds(store, { since: T + 2 }), ['at-3', 'at-2'])
    assert.deepEqual(await listIds(store, { until: T + 2 }), ['at-1'])
    assert.deepEqual(await listIds(store, { since: T + 2, until: T + 3 }), ['at-2'])
  })

  scenario('wants all conditions to hold', async (store) => {
    await apply(store, createOf({ id: 'a', queue: 'slow', tags: ['red'] }))
    await apply(store, createOf({ id: 'b', queue: 'slow' }))
    await apply(store, createOf({ id: 'c', tags: ['red'] }))
    assert.deepEqual(await listIds(store, { queue: 'slow', tag: 'red', status: ['pending'] }), ['a'])
    assert.deepEqual(await listIds(store, { queue: 'slow', tag: 'red', status: ['failed'] }), [])
  })
}

function pageTests({ scenario }: Suite): void {
  const newestFirst = ['g', 'f', 'e', 'd', 'c', 'b', 'a']

  scenario('returns the newest first, then by id', async (store) => {
    await apply(store, createOf({ id: 'a' }), T + 2)
    await apply(store, createOf({ id: 'b' }), T + 1)
    await apply(store, createOf({ id: 'd' }), T + 1)
    await apply(store, createOf({ id: 'c' }), T + 1)
    assert.deepEqual(await listIds(store), ['a', 'd', 'c', 'b'])
  })

  scenario('pages through runs of equal age without a gap or a repeat', async (store) => {
    await store.commit(
      ['c', 'a', 'g', 'e', 'b', 'f', 'd'].map((id) => createOf({ id })),
      T,
    )
    for (const limit of [1, 2, 3, 6]) {
      const { ids, pages } = await allPages(store, { limit })
      assert.deepEqual(ids, newestFirst)
      assert.equal(pages, Math.ceil(7 / limit))
    }
  })

  scenario('gives no cursor with the last page, also when it is full', async (store) => {
    await store.commit([createOf({ id: 'a' }), createOf({ id: 'b' })], T)
    assert.equal((await store.listRuns({ limit: 2 })).cursor, null)
    assert.deepEqual(await allPages(store, { limit: 1 }), { ids: ['b', 'a'], pages: 2 })
  })

  scenario('pages through what a filter lets through', async (store) => {
    await store.commit(
      newestFirst.map((id, i) => createOf({ id, tags: i % 2 === 0 ? ['even'] : [] })),
      T,
    )
    const { ids } = await allPages(store, { limit: 2, tag: 'even' })
    assert.deepEqual(ids, ['g', 'e', 'c', 'a'])
  })

  scenario('is not disturbed by runs that come and go between pages', async (store) => {
    for (const [i, id] of [...newestFirst].reverse().entries()) {
      await apply(store, createOf({ id }), T + i)
      await apply(store, { type: 'control', action: 'cancel', runId: id, reason: 'r', error: '"e"' })
    }
    let fresh = 0
    const { ids } = await allPages(store, { limit: 2 }, async () => {
      await apply(store, createOf({ id: `new-${fresh++}` }), T + 1_000)
      if (fresh === 1) await apply(store, controlOf('delete', 'f'))
    })
    assert.deepEqual(ids, newestFirst)
  })
}
