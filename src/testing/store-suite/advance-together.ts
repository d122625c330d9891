import assert from 'node:assert/strict'
import type { Delivery } from '../../ports/store.ts'
import {
  advanceOf,
  apply,
  arrived,
  CANCELLED,
  COMPLETED,
  cancelOf,
  claimIds,
  completed,
  createOf,
  deliverOf,
  FAILED,
  itemOf,
  journalOf,
  matches,
  newRun,
  POLICY,
  refuse,
  runOf,
  started,
  T,
  WAITING,
} from './fixture.ts'
import type { Suite } from './suite.ts'

export function advanceTogetherTests(suite: Suite): void {
  suite.describe('advance: children', () => childTests(suite))
  suite.describe('advance: other runs', () => otherTests(suite))
  suite.describe('advance: consumed items', () => consumedTests(suite))
}

function childTests({ scenario }: Suite): void {
  scenario('creates children together with the transition of the parent', async (store) => {
    const run = await started(store, { id: 'a' })
    const child = newRun({
      id: 'child',
      workflow: 'invoice',
      parentId: 'a',
      parentStep: 'invoice',
      dueAt: T + 3,
    })
    await apply(store, advanceOf(run, WAITING, { children: [{ run: child, claimedBy: null }] }))
    matches(await runOf(store, 'a'), { status: 'waiting' })
    matches(await runOf(store, 'child'), {
      workflow: 'invoice',
      status: 'pending',
      dueAt: T + 3,
      fence: 0,
      parentId: 'a',
      parentStep: 'invoice',
      createdAt: T,
    })
  })

  scenario('creates children that are already claimed', async (store) => {
    const run = await started(store, { id: 'a' })
    const child = newRun({ id: 'child', policy: { ...POLICY, timeout: 5 } })
    await apply(store, advanceOf(run, null, { children: [{ run: child, claimedBy: 'me' }] }))
    matches(await runOf(store, 'child'), { status: 'running', owner: 'me', fence: 1, deadline: T + 5 })
    assert.deepEqual(await claimIds(store), [])
  })

  scenario('leaves a child whose id exists as it is', async (store) => {
    const existing = await completed(store, 'child')
    const run = await started(store, { id: 'a' })
    const children = [
      { run: newRun({ id: 'child', input: '"new"' }), claimedBy: null },
      { run: newRun({ id: 'second' }), claimedBy: null },
    ]
    await apply(store, advanceOf(run, WAITING, { children }))
    assert.deepEqual(await runOf(store, 'child'), existing)
    matches(await runOf(store, 'second'), { status: 'pending' })
  })
}

function otherTests({ scenario }: Suite): void {
  scenario('delivers to another run and wakes it', async (store) => {
    const run = await started(store, { id: 'a' })
    await arrived(store, 'parent', WAITING)
    const item = itemOf('i', { kind: 'child', name: 'invoice#2', payload: '{"status":"completed"}' })
    await apply(store, advanceOf(run, COMPLETED, { deliveries: [{ runId: 'parent', item }] }), T + 2)
    matches(await runOf(store, 'a'), { status: 'completed' })
    matches(await runOf(store, 'parent'), { status: 'waiting', dueAt: T + 2, deliveries: 1 })
    assert.deepEqual((await journalOf(store, 'parent')).inbox, [item])
  })

  scenario('skips deliveries to runs that are missing, ended, or have the item', async (store) => {
    const run = await started(store, { id: 'a' })
    const ended = await completed(store, 'ended')
    await arrived(store, 'has', WAITING)
    await apply(store, deliverOf('has', itemOf('i')))
    const has = await runOf(store, 'has')
    await arrived(store, 'last', WAITING)
    const deliveries = ['nobody', 'ended', 'has', 'last'].map((runId) => ({ runId, item: itemOf('i') }))
    await apply(store, advanceOf(run, COMPLETED, { deliveries }), T + 2)
    assert.deepEqual(await runOf(store, 'ended'), ended)
    assert.deepEqual(await runOf(store, 'has'), has)
    matches(await runOf(store, 'last'), { deliveries: 1, dueAt: T + 2 })
  })

  for (const to of [COMPLETED, FAILED, CANCELLED]) {
    scenario(
      `tells the parent of a run that would end as ${to.status} how it really ended`,
      async (store) => {
        await arrived(store, 'parent', WAITING)
        const told = {
          deliveries: [{ runId: 'parent', item: itemOf('own', { payload: '"own end"' }) }],
          deliveriesIfCancelled: [{ runId: 'parent', item: itemOf('won', { payload: '"cancel won"' }) }],
        }
        const undisturbed = await started(store, { id: 'a' })
        await apply(store, advanceOf(undisturbed, to, told))
        assert.deepEqual((await journalOf(store, 'parent')).inbox, [told.deliveries[0]?.item])
        const run = await started(store, { id: 'b' })
        await apply(store, cancelOf('b'))
        await arrived(store, 'second', WAITING)
        await apply(
          store,
          advanceOf(run, to, { deliveries: toSecond('own'), deliveriesIfCancelled: toSecond('won') }),
        )
        const ids = (await journalOf(store, 'second')).inbox.map((item) => item.id)
        assert.deepEqual(ids, [to.status === 'cancelled' ? 'own' : 'won'])
        matches(await runOf(store, 'second'), { deliveries: 1, dueAt: T })
      },
    )
  }

  scenario(
    'makes the ordinary deliveries of a run that goes on although it is to be cancelled',
    async (store) => {
      const run = await started(store, { id: 'a' })
      await apply(store, cancelOf('a'))
      await arrived(store, 'second', WAITING)
      const told = { deliveries: toSecond('own'), deliveriesIfCancelled: toSecond('won') }
      await apply(store, advanceOf(run, null, told))
      await apply(store, advanceOf(run, WAITING, told))
      const ids = (await journalOf(store, 'second')).inbox.map((item) => item.id)
      assert.deepEqual(ids, ['own'])
    },
  )

  scenario('raises the deliveries of a running receiver, which then cannot park unawares', async (store) => {
    const run = await started(store, { id: 'a' })
    const receiver = await started(store, { id: 'b' })
    const results = await store.commit(
      [
        advanceOf(run, COMPLETED, { deliveries: [{ runId: 'b', item: itemOf('i') }] }),
        advanceOf(receiver, WAITING),
      ],
      T,
    )
    assert.deepEqual(
      results.map((result) => result.status),
      ['ok', 'ok'],
    )
    matches(await runOf(store, 'b'), { status: 'waiting', dueAt: T, deliveries: 1 })
  })

  scenario('cancels other runs as a cancel control does', async (store) => {
    const run = await started(store, { id: 'a' })
    await apply(store, createOf({ id: 'new' }))
    await arrived(store, 'parked', WAITING)
    const ended = await completed(store, 'ended')
    const cancels = ['nobody', 'ended', 'new', 'parked'].map((runId) => ({
      runId,
      reason: 'why',
      error: '"e"',
    }))
    await apply(store, advanceOf(run, COMPLETED, { cancels }), T + 2)
    matches(await runOf(store, 'new'), {
      status: 'cancelled',
      cancelReason: 'why',
      error: '"e"',
      endedAt: T + 2,
    })
    matches(await runOf(store, 'parked'), { status: 'pending', cancelReason: 'why', dueAt: T + 2 })
    assert.deepEqual(await runOf(store, 'ended'), ended)
  })
}

function toSecond(id: string): readonly Delivery[] {
  return [{ runId: 'second', item: itemOf(id) }]
}

function consumedTests({ scenario }: Suite): void {
  scenario('takes consumed items out of the inbox, and leaves the others', async (store) => {
    const run = await started(store, { id: 'a' })
    for (const id of ['i', 'j', 'k']) await apply(store, deliverOf('a', itemOf(id)))
    await apply(store, advanceOf(run, null, { consumed: ['i', 'k'] }))
    const { inbox } = await journalOf(store, 'a')
    assert.deepEqual(inbox, [itemOf('j')])
    assert.equal((await runOf(store, 'a')).deliveries, 3)
  })

  scenario('still knows a consumed item, so that a repeated delivery is a duplicate', async (store) => {
    const run = await started(store, { id: 'a' })
    await apply(store, deliverOf('a', itemOf('i')))
    await apply(store, advanceOf(run, { status: 'waiting', dueAt: null, seen: 1 }, { consumed: ['i'] }))
    await refuse(store, deliverOf('a', itemOf('i')), 'duplicate')
    assert.deepEqual((await journalOf(store, 'a')).inbox, [])
    matches(await runOf(store, 'a'), { dueAt: null, deliveries: 1 })
  })

  scenario('does not care about ids that it does not know', async (store) => {
    const run = await started(store, { id: 'a' })
    await apply(store, advanceOf(run, null, { consumed: ['nothing'] }))
    await apply(store, deliverOf('a', itemOf('nothing')))
    assert.deepEqual((await journalOf(store, 'a')).inbox, [itemOf('nothing')])
  })

  scenario('consumes only of its own run', async (store) => {
    const run = await started(store, { id: 'a' })
    await started(store, { id: 'b' })
    await apply(store, deliverOf('b', itemOf('i')))
    await apply(store, advanceOf(run, null, { consumed: ['i'] }))
    assert.deepEqual((await journalOf(store, 'b')).inbox, [itemOf('i')])
  })
}
