import assert from 'node:assert/strict'
import { apply, createOf, entryOf, journalOf, runOf, T, WORKFLOW } from './fixture.ts'
import type { Suite } from './suite.ts'

export function lifecycleTests({ describe, scenario, shared }: Suite): void {
  describe('lifecycle', () => {
    scenario('has a name for messages', async (store) => {
      assert.ok(store.name.length > 0)
    })

    scenario('migrates again, also several times at once, and keeps the data', async (store) => {
      await apply(store, createOf({ id: 'a', entries: [entryOf('one')] }))
      const before = await journalOf(store, 'a')
      await Promise.all([store.migrate(), store.migrate(), store.migrate()])
      assert.deepEqual(await journalOf(store, 'a'), before)
    })

    scenario('commits an empty batch', async (store) => {
      assert.deepEqual(await store.commit([], T), [])
    })

    scenario('commits a large batch, with one result per write in order', async (store) => {
      const ids = Array.from({ length: 1_500 }, (_, i) => `run-${i % 1_000}`)
      const results = await store.commit(
        ids.map((id) => createOf({ id })),
        T,
      )
      assert.deepEqual(
        results.map((result) => result.status),
        ids.map((_, i) => (i < 1_000 ? 'ok' : 'existing')),
      )
    })

    scenario('closes twice', async (store) => {
      await store.close()
      await store.close()
    })

    scenario('rejects every call after it was closed', async (store) => {
      await store.close()
      const request = { workflows: [WORKFLOW], queues: null }
      const calls: readonly (() => Promise<unknown>)[] = [
        () => store.migrate(),
        () => store.commit([createOf({ id: 'a' })], T),
        () => store.claim({ ...request, worker: 'w', limit: 1, now: T }),
        () => store.journal(['a'], { entries: true }),
        () => store.heartbeat({ id: 'w', leaseMs: 1, register: true }, T),
        () => store.reap(T, 1),
        () => store.nextDue(request),
        () => store.getRun('a'),
        () => store.listRuns({ limit: 1 }),
        () => store.stats(),
        () => store.prune(T, 1),
      ]
      for (const call of calls) await assert.rejects(call, Error)
    })

    shared('keeps what was committed when a process goes away', async ({ store, reopen }) => {
      await apply(store, createOf({ id: 'a', entries: [entryOf('one')] }))
      const before = await journalOf(store, 'a')
      const other = await reopen()
      await store.close()
      assert.deepEqual(await journalOf(other, 'a'), before)
    })

    shared('works on when another process closes its store', async ({ store, reopen }) => {
      const other = await reopen()
      await other.close()
      await apply(store, createOf({ id: 'a' }))
      assert.equal((await runOf(store, 'a')).status, 'pending')
    })
  })
}
