import assert from 'node:assert/strict'
import type { Heartbeat, Store } from '../../ports/store.ts'
import {
  advanceOf,
  apply,
  arrived,
  claimOne,
  completed,
  createOf,
  deliverOf,
  itemOf,
  matches,
  PAUSED,
  refuse,
  runOf,
  sorted,
  started,
  T,
  WAITING,
  WORKER,
} from './fixture.ts'
import type { Suite } from './suite.ts'

const LEASE = 100

export function leaseTests(suite: Suite): void {
  suite.describe('heartbeat', () => heartbeatTests(suite))
  suite.describe('reap', () => {
    reapTests(suite)
    reapLimitTests(suite)
  })
}

function register(store: Store, now = T, id = WORKER): Promise<Heartbeat> {
  return store.heartbeat({ id, leaseMs: LEASE, register: true }, now)
}

function renew(store: Store, now: number, id = WORKER): Promise<Heartbeat> {
  return store.heartbeat({ id, leaseMs: LEASE, register: false }, now)
}

function heartbeatTests({ scenario }: Suite): void {
  scenario('registers a worker that holds nothing', async (store) => {
    assert.deepEqual(await register(store), { alive: true, held: [] })
  })

  scenario('renews a lease that has not run out', async (store) => {
    await register(store)
    assert.equal((await renew(store, T + 90)).alive, true)
    assert.equal((await renew(store, T + 180)).alive, true)
    assert.equal((await renew(store, T + 999)).alive, false)
  })

  scenario('tells a worker that never registered', async (store) => {
    assert.equal((await renew(store, T)).alive, false)
    assert.equal((await renew(store, T + 1)).alive, false)
  })

  scenario('tells a worker whose lease has run out, and never revives it', async (store) => {
    await register(store)
    assert.equal((await renew(store, T + LEASE + 1)).alive, false)
    assert.equal((await renew(store, T + LEASE + 2)).alive, false)
    assert.equal(
      (await renew(store, T + 1)).alive,
      true,
      'nothing may have been written by the refused renewal',
    )
  })

  scenario('tells a worker that was reaped', async (store) => {
    await register(store)
    await store.reap(T + LEASE + 1, 10)
    assert.equal((await renew(store, T + 1)).alive, false)
  })

  scenario('lists what the worker holds, with fence and deliveries', async (store) => {
    await register(store)
    await started(store, { id: 'a' })
    await apply(store, deliverOf('a', itemOf('i')))
    await started(store, { id: 'b' }, { worker: 'other' })
    await arrived(store, 'parked', WAITING)
    await completed(store, 'done')
    await apply(store, createOf({ id: 'c' }))
    await store.reap(T, 10)
    const again = await claimOne(store, { worker: 'other' }).catch(() => null)
    assert.equal(again, null, 'the run of the other worker and run c must both be due')
    const { held } = await renew(store, T + 1)
    assert.deepEqual(held, [{ id: 'a', fence: 1, deliveries: 1 }])
  })

  scenario('ends a lease that is resigned', async (store) => {
    await register(store)
    await started(store, { id: 'a' })
    await store.heartbeat({ id: WORKER, leaseMs: 0, register: false }, T + 1)
    assert.equal((await renew(store, T + 2)).alive, false)
    assert.deepEqual(await store.reap(T + 2, 10), ['a'])
  })

  scenario('may be told twice to register or to resign', async (store) => {
    await register(store)
    assert.equal((await register(store, T + 50)).alive, true)
    assert.equal((await renew(store, T + 149)).alive, true)
    await store.heartbeat({ id: WORKER, leaseMs: 0, register: false }, T + 150)
    await store.heartbeat({ id: WORKER, leaseMs: 0, register: false }, T + 150)
  })

  scenario('keeps the leases of workers apart', async (store) => {
    await register(store, T, 'one')
    await register(store, T + 80, 'two')
    assert.equal((await renew(store, T + 120, 'two')).alive, true)
    assert.equal((await renew(store, T + 120, 'one')).alive, false)
  })
}

function reapTests({ scenario }: Suite): void {
  scenario('frees the runs of a worker whose lease has run out', async (store) => {
    await register(store)
    const run = await started(store, { id: 'a' })
    assert.deepEqual(await store.reap(T + LEASE + 1, 10), ['a'])
    assert.deepEqual(await runOf(store, 'a'), {
      ...run,
      status: 'pending',
      dueAt: T + LEASE + 1,
      attempt: 2,
      deaths: 1,
      owner: null,
    })
  })

  scenario('leaves the runs of a worker that is alive', async (store) => {
    await register(store)
    const run = await started(store, { id: 'a' })
    await renew(store, T + 90)
    assert.deepEqual(await store.reap(T + 150, 10), [])
    assert.deepEqual(await runOf(store, 'a'), run)
    await apply(store, advanceOf(run, WAITING))
  })

  scenario('agrees with heartbeat about the very end of a lease', async (store) => {
    await register(store, T, 'one')
    await register(store, T, 'two')
    await started(store, { id: 'a' }, { worker: 'one' })
    const { alive } = await renew(store, T + LEASE, 'two')
    assert.equal((await store.reap(T + LEASE, 10)).length, alive ? 0 : 1)
  })

  scenario('frees orphans: runs whose owner never had a row', async (store) => {
    await apply(store, createOf({ id: 'a' }))
    await claimOne(store, { worker: 'ghost' })
    await started(store, { id: 'b' }, { worker: 'phantom' })
    assert.deepEqual(sorted(await store.reap(T, 10)), ['a', 'b'])
  })

  scenario('refuses what the dead worker still writes', async (store) => {
    await register(store)
    const run = await started(store, { id: 'a' })
    await store.reap(T + LEASE + 1, 10)
    await refuse(store, advanceOf(run, WAITING), 'fenced')
    const heir = await claimOne(store, { worker: 'heir', now: T + LEASE + 1 })
    assert.equal(heir.fence, 2)
    await refuse(store, advanceOf(run, WAITING), 'fenced')
    await apply(store, advanceOf(heir, WAITING))
  })

  scenario('counts each death', async (store) => {
    await started(store, { id: 'a' })
    await store.reap(T, 10)
    await claimOne(store)
    await store.reap(T, 10)
    matches(await runOf(store, 'a'), { attempt: 3, deaths: 2, fence: 2 })
  })

  scenario('touches nothing but running runs', async (store) => {
    await arrived(store, 'a', WAITING)
    await arrived(store, 'b', PAUSED)
    await completed(store, 'c')
    await apply(store, createOf({ id: 'd' }))
    assert.deepEqual(await store.reap(T + 9_999, 10), [])
  })

  scenario('leaves a live worker registered that holds nothing', async (store) => {
    await register(store)
    await store.reap(T + 1, 10)
    assert.equal((await renew(store, T + 2)).alive, true)
  })

  scenario('keeps deliveries, cancel requests and what was seen', async (store) => {
    const run = await started(store, { id: 'a' })
    await apply(store, deliverOf('a', itemOf('i')))
    await apply(store, { type: 'control', action: 'cancel', runId: 'a', reason: 'r', error: '"e"' })
    await store.reap(T, 10)
    matches(await runOf(store, 'a'), { deliveries: 2, seen: run.seen, cancelReason: 'r', status: 'pending' })
  })
}

function reapLimitTests({ scenario }: Suite): void {
  scenario('frees no more than the limit, and the rest the next time', async (store) => {
    for (const id of ['a', 'b', 'c']) await started(store, { id })
    for (const id of ['d', 'e']) await started(store, { id }, { worker: 'other' })
    const first = await store.reap(T, 2)
    const second = await store.reap(T, 2)
    const third = await store.reap(T, 2)
    assert.deepEqual([first.length, second.length, third.length], [2, 2, 1])
    assert.deepEqual(sorted([...first, ...second, ...third]), ['a', 'b', 'c', 'd', 'e'])
    assert.deepEqual(await store.reap(T, 2), [])
  })

  scenario('does not count the runs of live workers towards the limit', async (store) => {
    await register(store, T, 'alive')
    for (const id of ['a', 'b', 'c']) await started(store, { id }, { worker: 'alive' })
    await started(store, { id: 'd' }, { worker: 'dead' })
    assert.deepEqual(await store.reap(T, 1), ['d'])
  })
}
