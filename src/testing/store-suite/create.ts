import assert from 'node:assert/strict'
import {
  apply,
  claimIds,
  commitOne,
  completed,
  controlOf,
  createOf,
  entryOf,
  journalOf,
  matches,
  newRun,
  POLICY,
  refuse,
  runOf,
  stateOf,
  T,
} from './fixture.ts'
import type { Suite } from './suite.ts'

export function createTests({ describe, scenario }: Suite): void {
  describe('create', () => {
    scenario('stores every field, and starts as pending, attempt 1, fence 0', async (store) => {
      const { entries: _, ...fields } = newRun({
        id: 'a',
        version: '2',
        queue: 'slow',
        key: 'order-7',
        priority: -3,
        tags: ['red', 'blue'],
        input: '{"x":1}',
        policy: {
          retry: { kind: 'schedule', delays: [1, 2] },
          timeout: 9,
          retention: 5,
          call: {
            retry: { kind: 'backoff', retries: 3, initial: 10, factor: 2, max: 90, jitter: 0.5 },
            timeout: 4,
            atMostOnce: true,
          },
        },
        dueAt: T + 7,
        parentId: 'p',
        parentStep: 'child#2',
      })
      const state = await apply(store, { type: 'create', run: { ...fields, entries: [] }, claimedBy: null })
      assert.deepEqual(state, { status: 'pending', dueAt: T + 7 })
      assert.deepEqual(await runOf(store, 'a'), {
        ...fields,
        status: 'pending',
        attempt: 1,
        epoch: 1,
        deaths: 0,
        owner: null,
        fence: 0,
        deliveries: 0,
        seen: 0,
        cancelReason: null,
        pauseRequested: false,
        pausedFrom: null,
        output: null,
        error: null,
        deadline: null,
        createdAt: T,
        startedAt: null,
        endedAt: null,
        expiresAt: null,
      })
    })

    scenario('creates and claims in one write', async (store) => {
      const policy = { ...POLICY, timeout: 300 }
      const state = await apply(store, createOf({ id: 'a', policy }, 'me'), T + 1)
      assert.deepEqual(state, { status: 'running', dueAt: null })
      matches(await runOf(store, 'a'), {
        status: 'running',
        dueAt: null,
        owner: 'me',
        fence: 1,
        attempt: 1,
        startedAt: T + 1,
        deadline: T + 301,
      })
      assert.deepEqual(await claimIds(store, { now: T + 9_999 }), [])
    })

    scenario('keeps the entries that a run starts with', async (store) => {
      const entries = [entryOf('one'), entryOf('two', { order: 2 })]
      await apply(store, createOf({ id: 'a', entries }))
      const stored = (await journalOf(store, 'a')).entries
      assert.deepEqual(
        [...stored].sort((a, b) => (a.key < b.key ? -1 : 1)),
        entries,
      )
    })

    scenario('returns the holder of an id, and leaves it as it is', async (store) => {
      await apply(store, createOf({ id: 'a', input: '"first"', entries: [entryOf('one')] }, 'me'))
      const before = await runOf(store, 'a')
      const again = createOf({ id: 'a', input: '"second"', workflow: 'other', entries: [entryOf('two')] })
      const result = await commitOne(store, again, T + 5)
      assert.deepEqual(result, { status: 'existing', run: before })
      assert.deepEqual(await runOf(store, 'a'), before)
      assert.deepEqual((await journalOf(store, 'a')).entries, [entryOf('one')])
    })

    scenario('returns the holder of a key, and creates nothing', async (store) => {
      await apply(store, createOf({ id: 'a', key: 'k' }))
      const result = await commitOne(store, createOf({ id: 'b', key: 'k' }))
      assert.deepEqual(result, { status: 'existing', run: await runOf(store, 'a') })
      assert.equal(await store.getRun('b'), null)
    })

    scenario('compares keys within a workflow only, whatever its version and queue', async (store) => {
      await apply(store, createOf({ id: 'a', key: 'k' }))
      await apply(store, createOf({ id: 'b', key: 'k', workflow: 'other' }))
      await refuse(store, createOf({ id: 'c', key: 'k', version: '2', queue: 'slow' }), 'existing')
    })

    scenario('lets any number of runs have no key', async (store) => {
      await apply(store, createOf({ id: 'a' }))
      await apply(store, createOf({ id: 'b' }))
    })

    scenario('holds a key after the run ended, until the run is deleted', async (store) => {
      await apply(store, createOf({ id: 'a', key: 'k' }))
      await apply(store, { type: 'control', action: 'cancel', runId: 'a', reason: 'r', error: '"e"' })
      await refuse(store, createOf({ id: 'b', key: 'k' }), 'existing')
      await apply(store, controlOf('delete', 'a'))
      await apply(store, createOf({ id: 'c', key: 'k' }))
    })

    scenario('finds conflicts of id and key inside one batch', async (store) => {
      const results = await store.commit(
        [
          createOf({ id: 'a', key: 'k' }),
          createOf({ id: 'a' }),
          createOf({ id: 'b', key: 'k' }),
          createOf({ id: 'c', key: 'l' }),
        ],
        T,
      )
      assert.deepEqual(
        results.map((result) => (result.status === 'existing' ? `existing ${result.run.id}` : result.status)),
        ['ok', 'existing a', 'existing a', 'ok'],
      )
      assert.equal(await store.getRun('b'), null)
    })

    scenario('may be sent again: the second time it changes nothing', async (store) => {
      const write = createOf({ id: 'a', key: 'k' })
      await apply(store, write)
      await claimIds(store)
      const before = await runOf(store, 'a')
      assert.deepEqual(await commitOne(store, write, T + 3), { status: 'existing', run: before })
      assert.deepEqual(await runOf(store, 'a'), before)
    })

    scenario('does not bring back a run that has ended', async (store) => {
      const before = await completed(store, 'a')
      await refuse(store, createOf({ id: 'a' }, 'me'), 'existing')
      assert.deepEqual(await runOf(store, 'a'), before)
    })

    scenario('gives a later write of the batch the run to work on', async (store) => {
      const results = await store.commit([createOf({ id: 'a', dueAt: T + 50 }), controlOf('wake', 'a')], T)
      assert.deepEqual(stateOf(results[1]), { status: 'pending', dueAt: T })
    })
  })
}
