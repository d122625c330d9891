import assert from 'node:assert/strict'
import {
  advanceOf,
  apply,
  arrived,
  cancelOf,
  claimOne,
  controlOf,
  deliverOf,
  itemOf,
  matches,
  PAUSED,
  PENDING,
  runOf,
  started,
  T,
  WAITING,
} from './fixture.ts'
import type { Suite } from './suite.ts'

export function advanceParkTests({ describe, scenario }: Suite): void {
  describe('advance: parking', () => {
    scenario('parks until a time', async (store) => {
      const run = await started(store, { id: 'a' })
      const state = await apply(store, advanceOf(run, { status: 'waiting', dueAt: T + 60, seen: 0 }))
      assert.deepEqual(state, { status: 'waiting', dueAt: T + 60 })
      assert.deepEqual(await runOf(store, 'a'), { ...run, status: 'waiting', dueAt: T + 60, owner: null })
    })

    scenario('parks until something is delivered', async (store) => {
      matches(await arrived(store, 'a', WAITING), { status: 'waiting', dueAt: null, owner: null, fence: 1 })
    })

    scenario('leaves the run due now if a delivery was not seen', async (store) => {
      const run = await started(store, { id: 'a' })
      await apply(store, deliverOf('a', itemOf('i')))
      await apply(store, deliverOf('a', itemOf('j')))
      const to = { status: 'waiting', dueAt: T + 60, seen: 1 } as const
      assert.deepEqual(await apply(store, advanceOf(run, to), T + 3), { status: 'waiting', dueAt: T + 3 })
      matches(await runOf(store, 'a'), { deliveries: 2, seen: 1 })
    })

    scenario('parks if all deliveries were seen', async (store) => {
      const run = await started(store, { id: 'a' })
      await apply(store, deliverOf('a', itemOf('i')))
      await apply(store, advanceOf(run, { status: 'waiting', dueAt: T + 60, seen: 1 }))
      matches(await runOf(store, 'a'), { status: 'waiting', dueAt: T + 60, deliveries: 1, seen: 1 })
    })

    scenario('sees a delivery of the same batch, whichever comes first', async (store) => {
      const a = await started(store, { id: 'a' })
      const b = await started(store, { id: 'b' })
      await store.commit([deliverOf('a', itemOf('i')), advanceOf(a, WAITING)], T)
      await store.commit([advanceOf(b, WAITING), deliverOf('b', itemOf('i'))], T)
      matches(await runOf(store, 'a'), { status: 'waiting', dueAt: T })
      matches(await runOf(store, 'b'), { status: 'waiting', dueAt: T })
    })

    scenario('makes a failed attempt due at once if its cancel was accepted', async (store) => {
      const run = await started(store, { id: 'a' })
      await apply(store, cancelOf('a'), T + 1)
      const to = { ...PENDING, dueAt: T + 3_600_000 } as const
      assert.deepEqual(await apply(store, advanceOf(run, to), T + 2), { status: 'pending', dueAt: T + 2 })
    })

    scenario('makes a failed attempt due again', async (store) => {
      const run = await started(store, { id: 'a' })
      const state = await apply(store, advanceOf(run, PENDING))
      assert.deepEqual(state, { status: 'pending', dueAt: T + 500 })
      assert.deepEqual(await runOf(store, 'a'), { ...run, ...PENDING, owner: null })
    })

    scenario('stores what a retried run has seen', async (store) => {
      const run = await started(store, { id: 'a' })
      await apply(store, deliverOf('a', itemOf('i')))
      await apply(store, advanceOf(run, { ...PENDING, seen: 1 }))
      matches(await runOf(store, 'a'), { seen: 1, deliveries: 1 })
    })

    scenario('sets a run aside with a reason, due at once when it is resumed', async (store) => {
      const run = await started(store, { id: 'a' })
      await apply(store, deliverOf('a', itemOf('i')))
      await apply(store, advanceOf(run, { ...PAUSED, seen: 1 }), T + 2)
      matches(await runOf(store, 'a'), {
        status: 'paused',
        pausedFrom: 'waiting',
        error: '"mismatch"',
        owner: null,
        seen: 1,
      })
      const state = await apply(store, controlOf('resume', 'a'), T + 9)
      assert.equal(state?.status, 'waiting')
      matches(await claimOne(store, { now: T + 9 }), { id: 'a', error: null })
    })

    scenario('honours a pause that was asked for while the run was running', async (store) => {
      for (const to of [WAITING, PENDING]) {
        const run = await started(store, { id: to.status })
        await apply(store, controlOf('pause', run.id))
        const state = await apply(store, advanceOf(run, { ...to, seen: 1 }))
        assert.equal(state?.status, 'paused')
        matches(await runOf(store, run.id), {
          status: 'paused',
          pausedFrom: to.status,
          pauseRequested: false,
          owner: null,
          dueAt: to.dueAt,
        })
      }
    })

    scenario('is done with a pause request when the run is set aside for another reason', async (store) => {
      const run = await started(store, { id: 'a' })
      await apply(store, controlOf('pause', 'a'))
      await apply(store, advanceOf(run, { ...PAUSED, seen: 1 }))
      matches(await runOf(store, 'a'), { status: 'paused', pauseRequested: false, pausedFrom: 'waiting' })
    })

    scenario('honours a cancel that was accepted while the run was running', async (store) => {
      const run = await started(store, { id: 'a' })
      await apply(store, cancelOf('a'))
      assert.deepEqual(await apply(store, advanceOf(run, WAITING)), { status: 'waiting', dueAt: T })
    })
  })
}
