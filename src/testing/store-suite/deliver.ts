import assert from 'node:assert/strict'
import {
  apply,
  arrived,
  CANCELLED,
  COMPLETED,
  claimOne,
  commitOne,
  controlOf,
  createOf,
  deliverOf,
  FAILED,
  itemOf,
  journalOf,
  matches,
  PENDING,
  refuse,
  runOf,
  started,
  T,
  WAITING,
} from './fixture.ts'
import type { Suite } from './suite.ts'

export function deliverTests({ describe, scenario }: Suite): void {
  describe('deliver', () => {
    scenario('makes a waiting run due now, and leaves it waiting', async (store) => {
      const run = await arrived(store, 'a', { status: 'waiting', dueAt: T + 999, seen: 0 })
      const state = await apply(store, deliverOf('a', itemOf('i')), T + 4)
      assert.deepEqual(state, { status: 'waiting', dueAt: T + 4 })
      assert.deepEqual(await runOf(store, 'a'), { ...run, dueAt: T + 4, deliveries: 1 })
      matches(await claimOne(store, { now: T + 4 }), { id: 'a', deliveries: 1, seen: 0 })
    })

    scenario('keeps the end of a child for a run that may be revived', async (store) => {
      for (const end of [FAILED, CANCELLED, COMPLETED]) {
        await arrived(store, end.status, end)
        const result = await commitOne(store, deliverOf(end.status, { ...itemOf('i'), kind: 'child' }))
        assert.equal(result.status, end.status === 'completed' ? 'refused' : 'ok')
        matches(await runOf(store, end.status), { status: end.status, dueAt: null })
      }
      await apply(store, controlOf('revive', 'failed'))
      assert.deepEqual(
        (await journalOf(store, 'failed')).inbox.map(({ id }) => id),
        ['i'],
      )
    })

    scenario('wakes a run that waits for nothing but a delivery', async (store) => {
      await arrived(store, 'a', WAITING)
      await apply(store, deliverOf('a', itemOf('i')))
      matches(await claimOne(store), { id: 'a' })
    })

    scenario('leaves a pending run due when it was', async (store) => {
      await arrived(store, 'a', PENDING)
      const state = await apply(store, deliverOf('a', itemOf('i')))
      assert.deepEqual(state, { status: 'pending', dueAt: PENDING.dueAt })
      matches(await runOf(store, 'a'), { deliveries: 1, dueAt: PENDING.dueAt })
    })

    scenario('leaves a paused run paused', async (store) => {
      await arrived(store, 'a', WAITING)
      await apply(store, controlOf('pause', 'a'))
      const state = await apply(store, deliverOf('a', itemOf('i')))
      assert.equal(state?.status, 'paused')
      matches(await runOf(store, 'a'), { status: 'paused', pausedFrom: 'waiting', deliveries: 1 })
    })

    scenario('leaves a running run with its claim', async (store) => {
      const run = await started(store, { id: 'a' })
      const state = await apply(store, deliverOf('a', itemOf('i')))
      assert.deepEqual(state, { status: 'running', dueAt: null })
      assert.deepEqual(await runOf(store, 'a'), { ...run, deliveries: 1 })
    })

    scenario('keeps all fields of an item, and the order of delivery', async (store) => {
      await apply(store, createOf({ id: 'a' }))
      const items = [
        itemOf('z', { at: T, payload: '{"n":1}' }),
        itemOf('m', { at: T, kind: 'child', name: 'invoice' }),
        itemOf('a', { at: T }),
        itemOf('b', { at: T + 5 }),
      ]
      await store.commit(
        items.slice(0, 3).map((item) => deliverOf('a', item)),
        T,
      )
      await apply(store, deliverOf('a', items[3] ?? itemOf('b')))
      assert.deepEqual((await journalOf(store, 'a')).inbox, items)
    })

    scenario('takes an item once', async (store) => {
      await arrived(store, 'a', WAITING)
      await apply(store, deliverOf('a', itemOf('i')))
      const before = await journalOf(store, 'a')
      const again = deliverOf('a', itemOf('i', { payload: '"other"' }))
      assert.deepEqual(await commitOne(store, again, T + 9), { status: 'duplicate' })
      assert.deepEqual(await journalOf(store, 'a'), before)
    })

    scenario('finds a repeated item inside one batch', async (store) => {
      await arrived(store, 'a', WAITING)
      const write = deliverOf('a', itemOf('i'))
      const results = await store.commit([write, write], T)
      assert.deepEqual(
        results.map((result) => result.status),
        ['ok', 'duplicate'],
      )
      assert.equal((await runOf(store, 'a')).deliveries, 1)
    })

    scenario('keeps the items of runs apart', async (store) => {
      await arrived(store, 'a', WAITING)
      await arrived(store, 'b', WAITING)
      await apply(store, deliverOf('a', itemOf('i')))
      await apply(store, deliverOf('b', itemOf('i')))
      assert.equal((await journalOf(store, 'b')).inbox.length, 1)
    })

    scenario('knows that a run is missing', async (store) => {
      assert.deepEqual(await commitOne(store, deliverOf('nobody', itemOf('i'))), { status: 'missing' })
    })

    for (const to of [COMPLETED, FAILED, CANCELLED]) {
      scenario(`is refused by a run that is ${to.status}`, async (store) => {
        const before = await arrived(store, 'a', to)
        const result = await refuse(store, deliverOf('a', itemOf('i')), 'refused')
        assert.deepEqual(result, { status: 'refused', runStatus: to.status })
        assert.deepEqual(await runOf(store, 'a'), before)
        assert.deepEqual((await journalOf(store, 'a')).inbox, [])
      })
    }

    scenario('reaches a run that was created or woken in the same batch', async (store) => {
      const results = await store.commit([createOf({ id: 'a' }), deliverOf('a', itemOf('i'))], T)
      assert.equal(results[1]?.status, 'ok')
      assert.equal((await runOf(store, 'a')).deliveries, 1)
    })
  })
}
