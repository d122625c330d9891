import assert from 'node:assert/strict'
import {
  advanceOf,
  apply,
  arrived,
  cancelOf,
  claimIds,
  claimOne,
  commitOne,
  completed,
  controlOf,
  createOf,
  FAILED,
  matches,
  PAUSED,
  PENDING,
  refuse,
  runOf,
  started,
  T,
  WAITING,
} from './fixture.ts'
import type { Suite } from './suite.ts'

export function cancelTests(suite: Suite): void {
  suite.describe('control: cancel', () => {
    neverStartedTests(suite)
    liveTests(suite)
    againTests(suite)
  })
}

function neverStartedTests({ scenario }: Suite): void {
  scenario('ends a run that was never claimed and has no parent', async (store) => {
    await apply(store, createOf({ id: 'a', dueAt: T + 50 }))
    const before = await runOf(store, 'a')
    const state = await apply(store, cancelOf('a'), T + 2)
    assert.deepEqual(state, { status: 'cancelled', dueAt: null })
    assert.deepEqual(await runOf(store, 'a'), {
      ...before,
      status: 'cancelled',
      dueAt: null,
      cancelReason: 'not needed',
      error: '"cancelled early"',
      endedAt: T + 2,
      expiresAt: T + 2 + before.policy.retention,
    })
  })

  scenario('ends a paused run that was never claimed', async (store) => {
    await apply(store, createOf({ id: 'a' }))
    await apply(store, controlOf('pause', 'a'))
    await apply(store, cancelOf('a'))
    matches(await runOf(store, 'a'), { status: 'cancelled', pausedFrom: null, dueAt: null })
  })

  scenario('makes a child that was never claimed due, so that its parent is told', async (store) => {
    await apply(store, createOf({ id: 'a', parentId: 'p', parentStep: 's', dueAt: T + 50 }))
    assert.deepEqual(await apply(store, cancelOf('a'), T + 2), { status: 'pending', dueAt: T + 2 })
    matches(await runOf(store, 'a'), {
      cancelReason: 'not needed',
      deliveries: 1,
      error: null,
      endedAt: null,
    })
  })
}

function liveTests({ scenario }: Suite): void {
  scenario('keeps the reason for a running run, and leaves it its claim', async (store) => {
    const run = await started(store, { id: 'a' })
    assert.deepEqual(await apply(store, cancelOf('a')), { status: 'running', dueAt: null })
    assert.deepEqual(await runOf(store, 'a'), { ...run, cancelReason: 'not needed', deliveries: 1 })
  })

  scenario('makes a parked run pending and due now', async (store) => {
    for (const to of [WAITING, PENDING]) {
      const run = await arrived(store, to.status, to)
      assert.deepEqual(await apply(store, cancelOf(run.id), T + 2), { status: 'pending', dueAt: T + 2 })
      assert.deepEqual(await runOf(store, run.id), {
        ...run,
        status: 'pending',
        dueAt: T + 2,
        cancelReason: 'not needed',
        deliveries: 1,
      })
    }
    assert.equal((await claimIds(store, { now: T + 2 })).length, 2)
  })

  scenario('takes a paused run out of its pause', async (store) => {
    await arrived(store, 'a', WAITING)
    await apply(store, controlOf('pause', 'a'))
    await arrived(store, 'b', PAUSED)
    for (const id of ['a', 'b']) {
      assert.deepEqual(await apply(store, cancelOf(id), T + 2), { status: 'pending', dueAt: T + 2 })
      matches(await runOf(store, id), { pausedFrom: null, cancelReason: 'not needed', deliveries: 1 })
    }
  })

  scenario('withdraws a pause that was only requested', async (store) => {
    const run = await started(store, { id: 'a' })
    await apply(store, controlOf('pause', 'a'))
    await apply(store, cancelOf('a'))
    matches(await runOf(store, 'a'), { pauseRequested: false, cancelReason: 'not needed' })
    await apply(store, advanceOf(run, WAITING))
    matches(await claimOne(store), { id: 'a' })
  })

  scenario('goes the long way for a run that was claimed before it was revived', async (store) => {
    await arrived(store, 'a', FAILED)
    await apply(store, controlOf('revive', 'a'))
    await apply(store, cancelOf('a'))
    matches(await runOf(store, 'a'), { status: 'pending', cancelReason: 'not needed' })
  })
}

function againTests({ scenario }: Suite): void {
  const second = { ...cancelOf('a'), reason: 'another reason', error: '"another"' }

  scenario('changes nothing the second time', async (store) => {
    await arrived(store, 'a', WAITING)
    await apply(store, cancelOf('a'))
    const before = await runOf(store, 'a')
    assert.deepEqual(await apply(store, second, T + 9), { status: 'pending', dueAt: T })
    assert.deepEqual(await runOf(store, 'a'), before)
  })

  scenario('leaves a run due that is set aside after its cancel was accepted', async (store) => {
    const run = await started(store, { id: 'a' })
    await apply(store, cancelOf('a'), T + 1)
    assert.deepEqual(await apply(store, advanceOf(run, PAUSED), T + 2), { status: 'waiting', dueAt: T + 2 })
    matches(await runOf(store, 'a'), { cancelReason: 'not needed', pausedFrom: null, error: null })
  })

  scenario('takes a run that was paused afterwards out of its pause the second time', async (store) => {
    await arrived(store, 'a', WAITING)
    await apply(store, cancelOf('a'), T + 1)
    await apply(store, controlOf('pause', 'a'), T + 2)
    assert.deepEqual(await apply(store, second, T + 3), { status: 'pending', dueAt: T + 3 })
    matches(await runOf(store, 'a'), { status: 'pending', cancelReason: 'not needed', pausedFrom: null })
  })

  scenario('changes nothing the second time while the run is running', async (store) => {
    await started(store, { id: 'a' })
    await store.commit([cancelOf('a'), second], T)
    matches(await runOf(store, 'a'), { cancelReason: 'not needed', deliveries: 1 })
  })

  scenario('is content with a run that is already cancelled', async (store) => {
    await apply(store, createOf({ id: 'a' }))
    await apply(store, cancelOf('a'))
    const before = await runOf(store, 'a')
    assert.deepEqual(await apply(store, second, T + 9), { status: 'cancelled', dueAt: null })
    assert.deepEqual(await runOf(store, 'a'), before)
  })

  scenario('is refused by a run that completed or failed', async (store) => {
    const done = await completed(store, 'a')
    await arrived(store, 'b', FAILED)
    assert.deepEqual(await refuse(store, cancelOf('a'), 'refused'), {
      status: 'refused',
      runStatus: 'completed',
    })
    assert.deepEqual(await refuse(store, cancelOf('b'), 'refused'), {
      status: 'refused',
      runStatus: 'failed',
    })
    assert.deepEqual(await runOf(store, 'a'), done)
  })

  scenario('knows that a run is missing', async (store) => {
    assert.deepEqual(await commitOne(store, cancelOf('nobody')), { status: 'missing' })
  })
}
