import assert from 'node:assert/strict'
import type { RunRecord } from '../../core/run.ts'
import {
  advanceOf,
  apply,
  arrived,
  claimIds,
  claimOne,
  completed,
  controlOf,
  createOf,
  FAILED,
  matches,
  PAUSED,
  PENDING,
  POLICY,
  runOf,
  sorted,
  started,
  T,
  WAITING,
  WORKFLOW,
} from './fixture.ts'
import type { Suite } from './suite.ts'

export function claimTests(suite: Suite): void {
  suite.describe('claim', () => {
    takingTests(suite)
    filterTests(suite)
    orderTests(suite)
  })
}

function takingTests({ scenario }: Suite): void {
  scenario('sets a due run running, with owner, fence, start and deadline', async (store) => {
    await apply(store, createOf({ id: 'a', policy: { ...POLICY, timeout: 300 } }))
    const before = await runOf(store, 'a')
    const run = await claimOne(store, { worker: 'me', now: T + 4 })
    const expected: RunRecord = {
      ...before,
      status: 'running',
      dueAt: null,
      owner: 'me',
      fence: 1,
      startedAt: T + 4,
      deadline: T + 304,
    }
    assert.deepEqual(run, expected)
    assert.deepEqual(await runOf(store, 'a'), expected)
  })

  scenario('raises the fence each time, and fills in start and deadline once', async (store) => {
    await apply(store, createOf({ id: 'a', policy: { ...POLICY, timeout: 300 } }))
    const first = await claimOne(store)
    await apply(store, advanceOf(first, { status: 'waiting', dueAt: T + 10, seen: 0 }))
    const second = await claimOne(store, { worker: 'other', now: T + 20 })
    matches(second, { fence: 2, owner: 'other', attempt: 1, startedAt: T, deadline: T + 300 })
  })

  scenario('sets no deadline later than the last valid time, whatever the timeout', async (store) => {
    const policy = { ...POLICY, timeout: Number.MAX_SAFE_INTEGER }
    await apply(store, createOf({ id: 'a', policy }))
    await apply(store, { ...createOf({ id: 'b', policy }), claimedBy: 'me' })
    matches(await claimOne(store), { id: 'a', deadline: 8.64e15 })
    matches(await runOf(store, 'b'), { deadline: 8.64e15 })
  })

  scenario('sets no deadline without a timeout', async (store) => {
    await apply(store, createOf({ id: 'a' }))
    matches(await claimOne(store), { startedAt: T, deadline: null })
  })

  scenario('takes pending and waiting runs from their due time on, not before', async (store) => {
    await apply(store, createOf({ id: 'a', dueAt: T + 10 }))
    await arrived(store, 'b', { status: 'waiting', dueAt: T + 10, seen: 0 })
    assert.deepEqual(await claimIds(store, { now: T + 9 }), [])
    assert.deepEqual(sorted(await claimIds(store, { now: T + 10 })), ['a', 'b'])
  })

  scenario('never takes a run that is running, paused, ended, or waits without a due time', async (store) => {
    await started(store, { id: 'running' })
    await arrived(store, 'waiting', WAITING)
    await arrived(store, 'mismatch', PAUSED)
    await completed(store, 'completed')
    await arrived(store, 'failed', FAILED)
    await apply(store, createOf({ id: 'paused' }))
    await apply(store, controlOf('pause', 'paused'))
    await apply(store, createOf({ id: 'cancelled' }))
    await apply(store, { type: 'control', action: 'cancel', runId: 'cancelled', reason: 'r', error: '"e"' })
    assert.deepEqual(await claimIds(store, { now: T + 1_000_000 }), [])
  })

  scenario('hands a run out once', async (store) => {
    await apply(store, createOf({ id: 'a' }))
    assert.deepEqual(await claimIds(store), ['a'])
    assert.deepEqual(await claimIds(store, { worker: 'other' }), [])
  })

  scenario('takes no more than the limit, and leaves the rest due', async (store) => {
    await store.commit(
      ['a', 'b', 'c', 'd', 'e'].map((id) => createOf({ id })),
      T,
    )
    const first = await claimIds(store, { limit: 2 })
    const second = await claimIds(store, { limit: 2 })
    const third = await claimIds(store, { limit: 2 })
    assert.deepEqual([first.length, second.length, third.length], [2, 2, 1])
    assert.deepEqual(sorted([...first, ...second, ...third]), ['a', 'b', 'c', 'd', 'e'])
  })

  scenario('judges by the time it is given, also when that goes back', async (store) => {
    await apply(store, createOf({ id: 'early', dueAt: T + 10 }))
    await apply(store, createOf({ id: 'urgent', dueAt: T + 20, priority: 9 }))
    assert.deepEqual(await claimIds(store, { limit: 1, now: T + 30 }), ['urgent'])
    assert.deepEqual(await claimIds(store, { now: T + 5 }), [])
    assert.deepEqual(await claimIds(store, { now: T + 10 }), ['early'])
  })

  scenario('takes a retried run at its new due time', async (store) => {
    await arrived(store, 'a', PENDING)
    assert.deepEqual(await claimIds(store, { now: PENDING.dueAt - 1 }), [])
    matches(await claimOne(store, { now: PENDING.dueAt }), { attempt: 2, epoch: 2, fence: 2 })
  })
}

function filterTests({ scenario }: Suite): void {
  scenario('takes only runs of the workflows and versions that are asked for', async (store) => {
    await apply(store, createOf({ id: 'a' }))
    await apply(store, createOf({ id: 'a2', version: '2' }))
    await apply(store, createOf({ id: 'b', workflow: 'other' }))
    await apply(store, createOf({ id: 'b2', workflow: 'other', version: '2' }))
    const workflows = [
      { name: 'order', version: '2' },
      { name: 'other', version: '' },
    ]
    assert.deepEqual(sorted(await claimIds(store, { workflows })), ['a2', 'b'])
    assert.deepEqual(await claimIds(store, { workflows: [] }), [])
    assert.deepEqual(await claimIds(store, { workflows: [WORKFLOW] }), ['a'])
  })

  scenario('keeps name and version apart', async (store) => {
    await apply(store, createOf({ id: 'a', workflow: 'or', version: 'der' }))
    await apply(store, createOf({ id: 'b', workflow: 'order', version: '' }))
    await apply(store, createOf({ id: 'c', workflow: 'orde', version: 'r' }))
    assert.deepEqual(await claimIds(store, { workflows: [{ name: 'or', version: 'der' }] }), ['a'])
    assert.deepEqual(await claimIds(store, { workflows: [{ name: 'ord', version: 'er' }] }), [])
  })

  scenario('takes only runs of the queues that are asked for; null means all', async (store) => {
    for (const queue of ['a', 'b', 'c', 'd']) await apply(store, createOf({ id: queue, queue }))
    assert.deepEqual(await claimIds(store, { queues: [] }), [])
    assert.deepEqual(await claimIds(store, { queues: ['nobody'] }), [])
    assert.deepEqual(sorted(await claimIds(store, { queues: ['a', 'c'] })), ['a', 'c'])
    assert.deepEqual(sorted(await claimIds(store)), ['b', 'd'])
  })

  scenario('skips urgent runs that it was not asked for', async (store) => {
    await apply(store, createOf({ id: 'a', priority: 9, queue: 'slow' }))
    await apply(store, createOf({ id: 'b', priority: 9, workflow: 'other' }))
    await apply(store, createOf({ id: 'c' }))
    assert.deepEqual(await claimIds(store, { limit: 1, queues: ['default'] }), ['c'])
  })
}

function orderTests({ scenario }: Suite): void {
  scenario('takes higher priority first, then the longest due', async (store) => {
    await store.commit(
      [
        createOf({ id: 'low', priority: -1, dueAt: T - 90 }),
        createOf({ id: 'later', dueAt: T - 1 }),
        createOf({ id: 'high', priority: 10, dueAt: T }),
        createOf({ id: 'sooner', dueAt: T - 50 }),
        createOf({ id: 'nine', priority: 9, dueAt: T - 99 }),
      ],
      T,
    )
    const taken: string[] = []
    for (let i = 0; i < 5; i++) taken.push(...(await claimIds(store, { limit: 1 })))
    assert.deepEqual(taken, ['high', 'nine', 'sooner', 'later', 'low'])
  })

  scenario('orders what one call takes across workflows, versions and queues', async (store) => {
    await store.commit(
      [
        createOf({ id: 'a', workflow: 'other', dueAt: T - 2 }),
        createOf({ id: 'b', version: '2', dueAt: T - 3 }),
        createOf({ id: 'c', queue: 'slow', priority: 1 }),
        createOf({ id: 'd', dueAt: T - 1 }),
      ],
      T,
    )
    const workflows = [WORKFLOW, { name: 'order', version: '2' }, { name: 'other', version: '' }]
    assert.deepEqual(sorted(await claimIds(store, { workflows, limit: 2 })), ['b', 'c'])
    assert.deepEqual(await claimIds(store, { workflows, limit: 1 }), ['a'])
  })

  scenario('does not let an urgent run that is not due hold up others', async (store) => {
    await apply(store, createOf({ id: 'urgent', priority: 9, dueAt: T + 1 }))
    await apply(store, createOf({ id: 'plain' }))
    assert.deepEqual(await claimIds(store, { limit: 1 }), ['plain'])
  })

  scenario('puts a run that became due again behind those that have been due longer', async (store) => {
    await apply(store, createOf({ id: 'again', dueAt: T - 10 }))
    await apply(store, advanceOf(await claimOne(store), { status: 'waiting', dueAt: T + 5, seen: 0 }))
    await apply(store, createOf({ id: 'next', dueAt: T + 1 }))
    assert.deepEqual(await claimIds(store, { limit: 1, now: T + 9 }), ['next'])
  })
}
