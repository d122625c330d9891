import assert from 'node:assert/strict'
import type { RunRecord } from '../../core/run.ts'
import type { AdvanceWrite, Store } from '../../ports/store.ts'
import {
  advanceOf,
  apply,
  arrived,
  COMPLETED,
  claimOne,
  commitOne,
  createOf,
  deliverOf,
  entryOf,
  FAILED,
  itemOf,
  journalOf,
  matches,
  newRun,
  PAUSED,
  PENDING,
  refuse,
  runOf,
  started,
  T,
  WAITING,
} from './fixture.ts'
import type { Suite } from './suite.ts'

export function advanceTests(suite: Suite): void {
  suite.describe('advance: the fence', () => fenceTests(suite))
  suite.describe('advance: the journal', () => entryTests(suite))
}

function fenceTests({ scenario }: Suite): void {
  scenario('refuses an old fence, a later fence and a wrong owner', async (store) => {
    await started(store, { id: 'a' })
    const run = await claimedAgain(store)
    await refuse(store, advanceOf(run, COMPLETED, { fence: run.fence - 1 }), 'fenced')
    await refuse(store, advanceOf(run, COMPLETED, { fence: run.fence + 1 }), 'fenced')
    await refuse(store, advanceOf(run, COMPLETED, { worker: 'stranger' }), 'fenced')
    assert.deepEqual(await runOf(store, 'a'), run)
    await apply(store, advanceOf(run, COMPLETED))
  })

  scenario('refuses the worker that lost the run to itself', async (store) => {
    const old = await started(store, { id: 'a' })
    await store.reap(T, 10)
    await claimOne(store)
    await refuse(store, advanceOf(old, COMPLETED), 'fenced')
  })

  scenario('refuses a run that is not running', async (store) => {
    for (const to of [WAITING, PENDING, PAUSED, COMPLETED, FAILED]) {
      const run = await arrived(store, to.status, to)
      await refuse(store, advanceOf(run, FAILED), 'fenced')
      await refuse(store, advanceOf(run, null, { entries: [entryOf('late')] }), 'fenced')
      assert.deepEqual(await runOf(store, run.id), run)
      assert.deepEqual((await journalOf(store, run.id)).entries, [])
    }
    await apply(store, createOf({ id: 'new' }))
    await refuse(store, advanceOf({ id: 'new', owner: null, fence: 0 }, COMPLETED), 'fenced')
  })

  scenario('refuses a run that does not exist', async (store) => {
    await refuse(store, advanceOf({ id: 'nobody', owner: 'me', fence: 1 }, COMPLETED), 'fenced')
  })

  scenario('applies nothing of a refused write', async (store) => {
    await started(store, { id: 'a' })
    const run = await claimedAgain(store)
    await apply(store, deliverOf('a', itemOf('i')))
    const other = await arrived(store, 'other', WAITING)
    const victim = await arrived(store, 'victim', WAITING)
    await refuse(store, { ...everything(run), fence: run.fence - 1 }, 'fenced')
    assert.deepEqual(await journalOf(store, 'a'), {
      runId: 'a',
      run: { ...run, deliveries: 1 },
      entries: [],
      inbox: [itemOf('i')],
    })
    assert.equal(await store.getRun('child'), null)
    assert.deepEqual((await journalOf(store, 'other')).inbox, [])
    assert.deepEqual(await runOf(store, 'other'), other)
    assert.deepEqual(await runOf(store, 'victim'), victim)
  })

  scenario('refuses in a batch only the writes that are refused', async (store) => {
    const a = await started(store, { id: 'a' })
    const b = await started(store, { id: 'b' })
    const results = await store.commit(
      [
        advanceOf(a, null, { fence: 7, entries: [entryOf('refused')] }),
        advanceOf(b, COMPLETED, { entries: [entryOf('kept')] }),
        deliverOf('nobody', itemOf('i')),
        advanceOf(a, WAITING, { entries: [entryOf('kept')] }),
      ],
      T,
    )
    assert.deepEqual(
      results.map((result) => result.status),
      ['fenced', 'ok', 'missing', 'ok'],
    )
    assert.deepEqual((await journalOf(store, 'a')).entries, [entryOf('kept')])
    assert.deepEqual((await journalOf(store, 'b')).entries, [entryOf('kept')])
  })
}

function everything(run: RunRecord): AdvanceWrite {
  return advanceOf(run, COMPLETED, {
    entries: [entryOf('one')],
    children: [{ run: newRun({ id: 'child' }), claimedBy: null }],
    deliveries: [{ runId: 'other', item: itemOf('o') }],
    cancels: [{ runId: 'victim', reason: 'r', error: '"e"' }],
    consumed: ['i'],
  })
}

/** The only running run, after its worker died and another one took it. */
async function claimedAgain(store: Store): Promise<RunRecord> {
  await store.reap(T, 10)
  return claimOne(store, { worker: 'heir' })
}

function entryTests({ scenario }: Suite): void {
  scenario('keeps what a later write of the claim wrote when an earlier one arrives late', async (store) => {
    const run = await started(store, { id: 'a' })
    const write = (number: number, value: string): AdvanceWrite =>
      advanceOf(run, null, { number, entries: [entryOf('step', { value }), entryOf(`only ${number}`)] })
    await apply(store, write(1, '"first"'))
    await apply(store, write(2, '"second"'))
    await apply(store, write(2, '"second, sent again"'))
    // Whether it is told that it was too late does not matter: nobody waits for its answer.
    await store.commit([write(1, '"first, late"')], T)
    const { entries } = await journalOf(store, 'a')
    assert.equal(entries.find(({ key }) => key === 'step')?.value, '"second, sent again"')
    assert.deepEqual(entries.map(({ key }) => key).sort(), ['only 1', 'only 2', 'step'])
  })

  scenario('lets a new claim replace what any write of an older one wrote', async (store) => {
    const first = await started(store, { id: 'a' })
    await apply(store, advanceOf(first, null, { number: 1_000, entries: [entryOf('step')] }))
    await store.reap(T, 10)
    const second = await claimOne(store)
    await apply(store, advanceOf(second, null, { number: 1, entries: [entryOf('step', { value: '"new"' })] }))
    assert.equal((await journalOf(store, 'a')).entries[0]?.value, '"new"')
  })

  scenario('stores every field of an entry', async (store) => {
    const run = await started(store, { id: 'a' })
    const entries = [
      entryOf('full', {
        kind: 'child',
        status: 'failed',
        target: 'invoice',
        childId: 'c',
        epoch: 3,
        order: 7,
        value: '{"x":[1]}',
        attempts: [{ attempt: 1, startedAt: T, endedAt: T + 1, error: '"e"' }],
        dueAt: T + 9,
      }),
      entryOf('open', { status: 'waiting', order: null, value: null, endedAt: null }),
    ]
    const state = await apply(store, advanceOf(run, null, { entries }))
    assert.deepEqual(state, { status: 'running', dueAt: null })
    const stored = (await journalOf(store, 'a')).entries
    assert.deepEqual(
      [...stored].sort((a, b) => (a.key < b.key ? -1 : 1)),
      entries,
    )
  })

  scenario('replaces an entry by its key, and keeps the others', async (store) => {
    const run = await started(store, { id: 'a' })
    await apply(store, advanceOf(run, null, { entries: [entryOf('one'), entryOf('two')] }))
    const changed = entryOf('one', { status: 'failed', order: 5, value: '"new"' })
    await apply(store, advanceOf(run, null, { entries: [changed] }))
    const byKey = new Map((await journalOf(store, 'a')).entries.map((entry) => [entry.key, entry]))
    assert.deepEqual(byKey.get('one'), changed)
    assert.deepEqual(byKey.get('two'), entryOf('two'))
    assert.equal(byKey.size, 2)
  })

  scenario('keeps the last of two entries of one key in one write', async (store) => {
    const run = await started(store, { id: 'a' })
    const entries = [entryOf('one', { value: '1' }), entryOf('one', { value: '2' })]
    await apply(store, advanceOf(run, null, { entries }))
    assert.deepEqual((await journalOf(store, 'a')).entries, [entryOf('one', { value: '2' })])
  })

  scenario('keeps the journals of runs apart', async (store) => {
    const a = await started(store, { id: 'a' })
    await started(store, { id: 'b' })
    await apply(store, advanceOf(a, null, { entries: [entryOf('one')] }))
    assert.deepEqual((await journalOf(store, 'b')).entries, [])
  })

  scenario('applies the writes of one run in the order of the batch', async (store) => {
    const run = await started(store, { id: 'a' })
    const step = (value: string): AdvanceWrite =>
      advanceOf(run, null, { entries: [entryOf('one', { value })] })
    const results = await store.commit([step('1'), step('2'), advanceOf(run, WAITING), step('3')], T)
    assert.deepEqual(
      results.map((result) => result.status),
      ['ok', 'ok', 'ok', 'fenced'],
    )
    assert.deepEqual((await journalOf(store, 'a')).entries, [entryOf('one', { value: '2' })])
  })

  scenario('may be sent again while it goes on running', async (store) => {
    const run = await started(store, { id: 'a' })
    await arrived(store, 'other', WAITING)
    await arrived(store, 'victim', WAITING)
    const write = { ...everything(run), consumed: [], to: null }
    const first = await commitOne(store, write)
    const runs = ['a', 'child', 'other', 'victim']
    const before = await store.journal(runs, { entries: true })
    assert.deepEqual(await commitOne(store, write), first)
    assert.deepEqual(await store.journal(runs, { entries: true }), before)
  })

  scenario('changes nothing when a write that ended the claim is sent again', async (store) => {
    const run = await started(store, { id: 'a' })
    const write = advanceOf(run, WAITING, { entries: [entryOf('one')] })
    await apply(store, write)
    const before = await journalOf(store, 'a')
    await refuse(store, write, 'fenced')
    assert.deepEqual(await journalOf(store, 'a'), before)
  })

  scenario('resets deaths by progress only', async (store) => {
    await started(store, { id: 'a' })
    const run = await claimedAgain(store)
    assert.equal(run.deaths, 1)
    await apply(store, advanceOf(run, null, { progress: true }))
    await apply(store, advanceOf(run, null, { progress: false, entries: [entryOf('one')] }))
    assert.equal((await runOf(store, 'a')).deaths, 1)
    await apply(store, advanceOf(run, null, { progress: true, entries: [entryOf('one')] }))
    matches(await runOf(store, 'a'), { deaths: 0, attempt: 2 })
  })

  scenario('resets deaths together with a transition', async (store) => {
    await started(store, { id: 'a' })
    const run = await claimedAgain(store)
    await apply(store, advanceOf(run, WAITING, { entries: [entryOf('one')] }))
    matches(await runOf(store, 'a'), { status: 'waiting', deaths: 0 })
  })
}
