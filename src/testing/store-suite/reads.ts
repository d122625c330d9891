import assert from 'node:assert/strict'
import type { Store } from '../../ports/store.ts'
import {
  advanceOf,
  apply,
  arrived,
  claimOne,
  completed,
  controlOf,
  createOf,
  deliverOf,
  FAILED,
  itemOf,
  matches,
  PAUSED,
  started,
  T,
  WAITING,
  WORKFLOW,
} from './fixture.ts'
import type { Suite } from './suite.ts'

export function readTests(suite: Suite): void {
  suite.describe('getRun', () => getRunTests(suite))
  suite.describe('stats', () => statsTests(suite))
  suite.describe('nextDue', () => nextDueTests(suite))
}

function getRunTests({ scenario }: Suite): void {
  scenario('returns null for a run that does not exist', async (store) => {
    assert.equal(await store.getRun('nobody'), null)
  })

  scenario('does not change a record that it handed out before', async (store) => {
    await apply(store, createOf({ id: 'a' }))
    const before = await store.getRun('a')
    const copy = structuredClone(before)
    await claimOne(store)
    assert.deepEqual(before, copy)
  })
}

function statsTests({ scenario }: Suite): void {
  const counts = async (store: Store): Promise<readonly string[]> =>
    (await store.stats())
      .filter(({ count }) => count > 0)
      .map(({ workflow, queue, status, count }) => `${workflow}/${queue}/${status}: ${count}`)
      .sort()

  scenario('counts nothing in an empty store', async (store) => {
    assert.deepEqual(await counts(store), [])
  })

  scenario('counts runs by workflow, queue and status', async (store) => {
    await apply(store, createOf({ id: 'a' }))
    await apply(store, createOf({ id: 'b' }))
    await apply(store, createOf({ id: 'c', queue: 'slow' }))
    await apply(store, createOf({ id: 'd', workflow: 'other' }))
    await arrived(store, 'e', WAITING)
    await arrived(store, 'f', PAUSED)
    await completed(store, 'g')
    await arrived(store, 'h', FAILED)
    await started(store, { id: 'i' })
    assert.deepEqual(await counts(store), [
      'order/default/completed: 1',
      'order/default/failed: 1',
      'order/default/paused: 1',
      'order/default/pending: 2',
      'order/default/running: 1',
      'order/default/waiting: 1',
      'order/slow/pending: 1',
      'other/default/pending: 1',
    ])
  })

  scenario('follows what happens to a run', async (store) => {
    await apply(store, createOf({ id: 'a' }))
    await apply(store, advanceOf(await claimOne(store), FAILED))
    assert.deepEqual(await counts(store), ['order/default/failed: 1'])
    await apply(store, controlOf('delete', 'a'))
    assert.deepEqual(await counts(store), [])
  })
}

function nextDueTests({ scenario }: Suite): void {
  const all = { workflows: [WORKFLOW], queues: null }

  scenario('is null when nothing will be due by itself', async (store) => {
    assert.equal(await store.nextDue(all), null)
    await arrived(store, 'a', WAITING)
    await arrived(store, 'b', PAUSED)
    await completed(store, 'c')
    await started(store, { id: 'd' })
    await apply(store, createOf({ id: 'e' }))
    await apply(store, controlOf('pause', 'e'))
    assert.equal(await store.nextDue(all), null)
  })

  scenario('is the earliest due time, whatever the priority', async (store) => {
    await apply(store, createOf({ id: 'a', dueAt: T + 50, priority: 9 }))
    await apply(store, createOf({ id: 'b', dueAt: T + 70 }))
    await arrived(store, 'c', { status: 'waiting', dueAt: T + 30, seen: 0 })
    assert.equal(await store.nextDue(all), T + 30)
  })

  scenario('may lie in the past', async (store) => {
    await apply(store, createOf({ id: 'a', dueAt: T - 50 }))
    assert.equal(await store.nextDue(all), T - 50)
  })

  scenario('looks at the given workflows, versions and queues only', async (store) => {
    await apply(store, createOf({ id: 'a', dueAt: T + 1, workflow: 'other' }))
    await apply(store, createOf({ id: 'b', dueAt: T + 2, version: '2' }))
    await apply(store, createOf({ id: 'c', dueAt: T + 3, queue: 'slow' }))
    await apply(store, createOf({ id: 'd', dueAt: T + 4 }))
    assert.equal(await store.nextDue(all), T + 3)
    assert.equal(await store.nextDue({ ...all, queues: ['default'] }), T + 4)
    assert.equal(await store.nextDue({ ...all, queues: ['nobody'] }), null)
    assert.equal(await store.nextDue({ workflows: [{ name: 'order', version: '2' }], queues: null }), T + 2)
    assert.equal(await store.nextDue({ workflows: [], queues: null }), null)
  })

  scenario('follows claims and deliveries', async (store) => {
    await apply(store, createOf({ id: 'a' }))
    const run = await claimOne(store)
    assert.equal(await store.nextDue(all), null)
    await apply(store, advanceOf(run, { status: 'waiting', dueAt: T + 500, seen: 0 }))
    assert.equal(await store.nextDue(all), T + 500)
    await apply(store, deliverOf('a', itemOf('i')), T + 20)
    assert.equal(await store.nextDue(all), T + 20)
    matches(await claimOne(store, { now: T + 20 }), { id: 'a' })
  })
}
