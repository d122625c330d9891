import assert from 'node:assert/strict'
import {
  advanceOf,
  apply,
  arrived,
  CANCELLED,
  COMPLETED,
  cancelOf,
  claimOne,
  commitOne,
  completed,
  controlOf,
  createOf,
  deliverOf,
  entryOf,
  FAILED,
  itemOf,
  journalOf,
  matches,
  PAUSED,
  PENDING,
  POLICY,
  runOf,
  started,
  T,
  WAITING,
} from './fixture.ts'
import type { Suite } from './suite.ts'

export function controlTests(suite: Suite): void {
  suite.describe('control: revive', () => revive(suite))
  suite.describe('control: wake', () => wake(suite))
  suite.describe('control: delete', () => remove(suite))
}

function revive({ scenario }: Suite): void {
  scenario('starts a failed run over, with its journal and inbox', async (store) => {
    const run = await started(store, { id: 'a', policy: { ...POLICY, timeout: 300 } })
    await apply(store, deliverOf('a', itemOf('i')))
    await apply(store, advanceOf(run, FAILED, { entries: [entryOf('one')] }))
    assert.deepEqual(await apply(store, controlOf('revive', 'a'), T + 8), { status: 'pending', dueAt: T + 8 })
    assert.deepEqual(await journalOf(store, 'a'), {
      runId: 'a',
      run: {
        ...run,
        status: 'pending',
        dueAt: T + 8,
        epoch: run.epoch + 1,
        owner: null,
        deliveries: 1,
        startedAt: null,
        deadline: null,
      },
      entries: [entryOf('one')],
      inbox: [itemOf('i')],
    })
    matches(await claimOne(store, { now: T + 9 }), { fence: 2, startedAt: T + 9, deadline: T + 309 })
  })

  scenario('resets attempt and deaths', async (store) => {
    await started(store, { id: 'a' })
    await store.reap(T, 10)
    await apply(store, advanceOf(await claimOne(store), FAILED))
    await apply(store, controlOf('revive', 'a'))
    matches(await runOf(store, 'a'), { attempt: 1, deaths: 0, error: null })
  })

  scenario('forgets that the run was cancelled', async (store) => {
    const run = await started(store, { id: 'a' })
    await apply(store, cancelOf('a'))
    await apply(store, advanceOf(run, CANCELLED))
    await apply(store, controlOf('revive', 'a'))
    matches(await runOf(store, 'a'), { cancelReason: null, error: null, endedAt: null, expiresAt: null })
    await apply(store, advanceOf(await claimOne(store), COMPLETED))
    matches(await runOf(store, 'a'), { status: 'completed' })
  })

  scenario('raises the epoch above that of a retried run', async (store) => {
    await arrived(store, 'a', PENDING)
    await apply(store, advanceOf(await claimOne(store, { now: T + 500 }), FAILED))
    await apply(store, controlOf('revive', 'a'))
    matches(await runOf(store, 'a'), { epoch: PENDING.epoch + 1, attempt: 1 })
  })

  scenario('is refused by every other state', async (store) => {
    for (const to of [WAITING, PENDING, PAUSED, COMPLETED]) {
      const run = await arrived(store, to.status, to)
      const result = await commitOne(store, controlOf('revive', run.id))
      assert.deepEqual(result, { status: 'refused', runStatus: to.status })
      assert.deepEqual(await runOf(store, run.id), run)
    }
    assert.deepEqual(await commitOne(store, controlOf('revive', 'nobody')), { status: 'missing' })
  })

  scenario('revives once, when it is sent again', async (store) => {
    await arrived(store, 'a', FAILED)
    await store.commit([controlOf('revive', 'a'), controlOf('revive', 'a')], T)
    matches(await runOf(store, 'a'), { status: 'pending', epoch: 2 })
  })

  scenario('saves the run from being pruned', async (store) => {
    await arrived(store, 'a', FAILED)
    await apply(store, controlOf('revive', 'a'))
    assert.equal(await store.prune(T + 1_000_000, 10), 0)
  })
}

function wake({ scenario }: Suite): void {
  scenario('makes pending and waiting runs due now', async (store) => {
    for (const to of [WAITING, PENDING]) {
      const run = await arrived(store, to.status, to)
      assert.deepEqual(await apply(store, controlOf('wake', run.id), T + 3), {
        status: to.status,
        dueAt: T + 3,
      })
      assert.deepEqual(await runOf(store, run.id), { ...run, dueAt: T + 3 })
    }
  })

  scenario('is refused by paused and ended runs', async (store) => {
    for (const to of [PAUSED, COMPLETED, FAILED, CANCELLED]) {
      const run = await arrived(store, to.status, to)
      const result = await commitOne(store, controlOf('wake', run.id))
      assert.deepEqual(result, { status: 'refused', runStatus: to.status })
      assert.deepEqual(await runOf(store, run.id), run)
    }
    assert.deepEqual(await commitOne(store, controlOf('wake', 'nobody')), { status: 'missing' })
  })

  scenario('never touches a running run', async (store) => {
    const run = await started(store, { id: 'a' })
    await commitOne(store, controlOf('wake', 'a'))
    assert.deepEqual(await runOf(store, 'a'), run)
  })
}

function remove({ scenario }: Suite): void {
  for (const to of [COMPLETED, FAILED, CANCELLED]) {
    scenario(`removes a run that is ${to.status}, with all that belongs to it`, async (store) => {
      const run = await started(store, { id: 'a', key: 'k' })
      await apply(store, deliverOf('a', itemOf('i')))
      await apply(store, advanceOf(run, to, { entries: [entryOf('one')] }))
      assert.equal(await apply(store, controlOf('delete', 'a')), null)
      assert.deepEqual(await journalOf(store, 'a'), { runId: 'a', run: null, entries: [], inbox: [] })
      await apply(store, createOf({ id: 'a', key: 'k' }))
      const fresh = await journalOf(store, 'a')
      assert.deepEqual([fresh.entries, fresh.inbox], [[], []])
      assert.equal((await commitOne(store, deliverOf('a', itemOf('i')))).status, 'ok')
    })
  }

  scenario('is refused by a run that has not ended', async (store) => {
    for (const to of [WAITING, PENDING, PAUSED]) {
      const run = await arrived(store, to.status, to)
      const result = await commitOne(store, controlOf('delete', run.id))
      assert.deepEqual(result, { status: 'refused', runStatus: to.status })
    }
    await started(store, { id: 'a' })
    assert.deepEqual(await commitOne(store, controlOf('delete', 'a')), {
      status: 'refused',
      runStatus: 'running',
    })
  })

  scenario('leaves other runs alone, and is missing the second time', async (store) => {
    await completed(store, 'a')
    const other = await completed(store, 'b')
    const results = await store.commit([controlOf('delete', 'a'), controlOf('delete', 'a')], T)
    assert.deepEqual(results, [{ status: 'ok', run: null }, { status: 'missing' }])
    assert.deepEqual(await runOf(store, 'b'), other)
  })
}
