import assert from 'node:assert/strict'
import type { Store } from '../../ports/store.ts'
import {
  advanceOf,
  apply,
  arrived,
  COMPLETED,
  claimIds,
  claimOne,
  createOf,
  deliverOf,
  FAILED,
  itemOf,
  journalOf,
  matches,
  runOf,
  sorted,
  started,
  T,
  WAITING,
} from './fixture.ts'
import type { Suite } from './suite.ts'

export function concurrencyTests(suite: Suite): void {
  suite.describe('concurrency in one process', () => oneProcess(suite))
  suite.describe('concurrency of several processes', () => severalProcesses(suite))
}

const range = (length: number): readonly number[] => Array.from({ length }, (_, i) => i)

/** 100 runs, 40 claims of up to 3 at once: every run is handed out exactly once. */
async function assertHandedOutOnce(stores: readonly Store[]): Promise<void> {
  const ids = range(100).map((i) => `run-${i}`)
  const [first] = stores
  await first?.commit(
    ids.map((id) => createOf({ id })),
    T,
  )
  const taken = await Promise.all(
    range(40).flatMap((i) => {
      const store = stores[i % stores.length]
      return store === undefined ? [] : claimIds(store, { worker: `worker-${i}`, limit: 3 })
    }),
  )
  assert.deepEqual(sorted(taken.flat()), sorted(ids))
}

function oneProcess({ scenario }: Suite): void {
  scenario('hands out each run once to 40 claims at once', (store) => assertHandedOutOnce([store]))

  scenario('gives a key to one of many creations at once', async (store) => {
    const results = await Promise.all(
      range(20).map((i) => store.commit([createOf({ id: `run-${i}`, key: 'k' })], T)),
    )
    const statuses = results.flat().map((result) => result.status)
    assert.equal(statuses.filter((status) => status === 'ok').length, 1)
    assert.equal(statuses.filter((status) => status === 'existing').length, 19)
  })

  scenario('counts deliveries that are made at once', async (store) => {
    await arrived(store, 'a', WAITING)
    await Promise.all(range(30).map((i) => store.commit([deliverOf('a', itemOf(`i-${i % 15}`))], T)))
    matches(await runOf(store, 'a'), { deliveries: 15 })
    assert.equal((await journalOf(store, 'a')).inbox.length, 15)
  })

  scenario('never loses a delivery that races with parking', async (store) => {
    for (const i of range(20)) {
      const run = await started(store, { id: `run-${i}` })
      const writes = [advanceOf(run, WAITING), deliverOf(run.id, itemOf('i'))]
      await Promise.all((i % 2 === 0 ? writes : writes.reverse()).map((write) => store.commit([write], T)))
    }
    assert.equal((await claimIds(store, { limit: 50 })).length, 20)
  })

  scenario('lets one of two ends win', async (store) => {
    const run = await started(store, { id: 'a' })
    const results = await Promise.all([COMPLETED, FAILED].map((to) => store.commit([advanceOf(run, to)], T)))
    assert.deepEqual(sorted(results.flat().map((result) => result.status)), ['fenced', 'ok'])
  })

  scenario('frees each run once by many sweeps at once', async (store) => {
    for (const i of range(12)) await started(store, { id: `run-${i}` }, { worker: `dead-${i % 3}` })
    const freed = await Promise.all(range(6).map(() => store.reap(T, 5)))
    assert.deepEqual(sorted(freed.flat()), sorted(range(12).map((i) => `run-${i}`)))
    for (const i of range(12)) matches(await runOf(store, `run-${i}`), { attempt: 2, deaths: 1 })
  })
}

function severalProcesses({ shared }: Suite): void {
  shared('hands out each run once to claims of several processes', async ({ store, reopen }) => {
    await assertHandedOutOnce([store, await reopen(), await reopen()])
  })

  shared('sees what another process wrote', async ({ store, reopen }) => {
    const other = await reopen()
    await apply(store, createOf({ id: 'a', key: 'k' }))
    assert.deepEqual(await runOf(other, 'a'), await runOf(store, 'a'))
    const results = await other.commit([createOf({ id: 'b', key: 'k' })], T)
    assert.equal(results[0]?.status, 'existing')
  })

  shared('fences a worker of another process', async ({ store, reopen }) => {
    const other = await reopen()
    const zombie = await started(store, { id: 'a' })
    await other.reap(T, 10)
    const heir = await claimOne(other, { worker: 'heir' })
    const results = await Promise.all([
      store.commit([advanceOf(zombie, FAILED)], T),
      other.commit([advanceOf(heir, COMPLETED)], T),
    ])
    assert.deepEqual(
      results.flat().map((result) => result.status),
      ['fenced', 'ok'],
    )
  })

  shared('shares leases', async ({ store, reopen }) => {
    const other = await reopen()
    await store.heartbeat({ id: 'w', leaseMs: 100, register: true }, T)
    await started(store, { id: 'a' }, { worker: 'w' })
    assert.deepEqual(await other.reap(T + 50, 10), [])
    assert.deepEqual(await other.reap(T + 101, 10), ['a'])
    assert.equal((await store.heartbeat({ id: 'w', leaseMs: 100, register: false }, T + 99)).alive, false)
  })

  shared('gives a key to one of many processes', async ({ store, reopen }) => {
    const stores = [store, await reopen(), await reopen()]
    const results = await Promise.all(
      range(30).flatMap((i) => stores[i % 3]?.commit([createOf({ id: `run-${i}`, key: 'k' })], T) ?? []),
    )
    assert.equal(results.flat().filter((result) => result.status === 'ok').length, 1)
  })
}
