import assert from 'node:assert/strict'
import {
  advanceOf,
  apply,
  arrived,
  claimIds,
  claimOne,
  commitOne,
  completed,
  controlOf,
  createOf,
  deliverOf,
  FAILED,
  itemOf,
  matches,
  PENDING,
  refuse,
  runOf,
  started,
  T,
  WAITING,
} from './fixture.ts'
import type { Suite } from './suite.ts'

export function pauseTests(suite: Suite): void {
  suite.describe('control: pause', () => pausing(suite))
  suite.describe('control: resume', () => resuming(suite))
}

function pausing({ scenario }: Suite): void {
  scenario('pauses pending and waiting runs, and remembers which and when', async (store) => {
    for (const to of [PENDING, { status: 'waiting', dueAt: T + 70, seen: 0 } as const]) {
      const run = await arrived(store, to.status, to)
      assert.equal((await apply(store, controlOf('pause', run.id)))?.status, 'paused')
      assert.deepEqual(await runOf(store, run.id), { ...run, status: 'paused', pausedFrom: to.status })
      await apply(store, controlOf('resume', run.id), T + 5)
      matches(await runOf(store, run.id), { status: to.status, pausedFrom: null, dueAt: to.dueAt })
    }
  })

  scenario('only asks a running run, and raises its deliveries', async (store) => {
    const run = await started(store, { id: 'a' })
    assert.deepEqual(await apply(store, controlOf('pause', 'a')), { status: 'running', dueAt: null })
    assert.deepEqual(await runOf(store, 'a'), { ...run, pauseRequested: true, deliveries: 1 })
    await apply(store, advanceOf(run, null))
    matches(await runOf(store, 'a'), { status: 'running', pauseRequested: true })
  })

  scenario('asks a running run once, however often it is sent', async (store) => {
    await started(store, { id: 'a' })
    await store.commit([controlOf('pause', 'a'), controlOf('pause', 'a')], T)
    matches(await runOf(store, 'a'), { pauseRequested: true, deliveries: 1 })
  })

  scenario('leaves a paused run paused', async (store) => {
    await arrived(store, 'a', WAITING)
    await apply(store, controlOf('pause', 'a'))
    const before = await runOf(store, 'a')
    assert.equal((await apply(store, controlOf('pause', 'a'), T + 5))?.status, 'paused')
    assert.deepEqual(await runOf(store, 'a'), before)
  })

  scenario('pauses a run that was due while it ran when its worker dies', async (store) => {
    await started(store, { id: 'a' })
    await apply(store, controlOf('pause', 'a'))
    assert.deepEqual(await store.reap(T + 1, 10), ['a'])
    matches(await runOf(store, 'a'), {
      status: 'paused',
      pausedFrom: 'pending',
      pauseRequested: false,
      owner: null,
      attempt: 2,
      deaths: 1,
    })
    assert.deepEqual(await claimIds(store, { now: T + 9 }), [])
    await apply(store, controlOf('resume', 'a'), T + 2)
    matches(await claimOne(store, { now: T + 2 }), { id: 'a', attempt: 2 })
  })

  scenario('is refused by an ended run', async (store) => {
    const run = await completed(store, 'a')
    const result = await refuse(store, controlOf('pause', 'a'), 'refused')
    assert.deepEqual(result, { status: 'refused', runStatus: 'completed' })
    assert.deepEqual(await runOf(store, 'a'), run)
  })

  scenario('knows that a run is missing', async (store) => {
    assert.deepEqual(await commitOne(store, controlOf('pause', 'nobody')), { status: 'missing' })
  })
}

function resuming({ scenario }: Suite): void {
  scenario('makes a waiting run due now if something was delivered meanwhile', async (store) => {
    await arrived(store, 'a', { status: 'waiting', dueAt: T + 900, seen: 0 })
    await apply(store, controlOf('pause', 'a'))
    await apply(store, deliverOf('a', itemOf('i')))
    assert.deepEqual(await apply(store, controlOf('resume', 'a'), T + 3), { status: 'waiting', dueAt: T + 3 })
    matches(await claimOne(store, { now: T + 3 }), { id: 'a', deliveries: 1 })
  })

  scenario('leaves a waiting run parked if nothing was delivered', async (store) => {
    await arrived(store, 'a', WAITING)
    await apply(store, controlOf('pause', 'a'))
    assert.deepEqual(await apply(store, controlOf('resume', 'a')), { status: 'waiting', dueAt: null })
    assert.deepEqual(await claimIds(store, { now: T + 999 }), [])
  })

  scenario('leaves a pending run due when it was, whatever was delivered', async (store) => {
    await arrived(store, 'a', PENDING)
    await apply(store, controlOf('pause', 'a'))
    await apply(store, deliverOf('a', itemOf('i')))
    const state = await apply(store, controlOf('resume', 'a'))
    assert.deepEqual(state, { status: 'pending', dueAt: PENDING.dueAt })
  })

  scenario('does not lose what came between the request and the pause', async (store) => {
    const run = await started(store, { id: 'a' })
    await apply(store, controlOf('pause', 'a'))
    await apply(store, deliverOf('a', itemOf('i')))
    await apply(store, advanceOf(run, { status: 'waiting', dueAt: null, seen: 1 }))
    matches(await runOf(store, 'a'), { status: 'paused', deliveries: 2, seen: 1 })
    await apply(store, controlOf('resume', 'a'), T + 4)
    matches(await claimOne(store, { now: T + 4 }), { id: 'a' })
  })

  scenario('withdraws a pause that is only requested', async (store) => {
    const run = await started(store, { id: 'a' })
    await apply(store, controlOf('pause', 'a'))
    assert.deepEqual(await apply(store, controlOf('resume', 'a')), { status: 'running', dueAt: null })
    assert.equal((await runOf(store, 'a')).pauseRequested, false)
    await apply(store, advanceOf(run, { status: 'waiting', dueAt: null, seen: 1 }))
    matches(await runOf(store, 'a'), { status: 'waiting' })
  })

  scenario('is refused by a run that is not paused', async (store) => {
    await arrived(store, 'a', WAITING)
    await arrived(store, 'b', FAILED)
    await started(store, { id: 'c' })
    for (const [id, runStatus] of [
      ['a', 'waiting'] as const,
      ['b', 'failed'] as const,
      ['c', 'running'] as const,
    ]) {
      assert.deepEqual(await commitOne(store, controlOf('resume', id)), { status: 'refused', runStatus })
    }
  })

  scenario('knows that a run is missing', async (store) => {
    await apply(store, createOf({ id: 'a' }))
    assert.deepEqual(await commitOne(store, controlOf('resume', 'nobody')), { status: 'missing' })
  })
}
