import assert from 'node:assert/strict'
import {
  advanceOf,
  apply,
  CANCELLED,
  COMPLETED,
  cancelOf,
  claimOne,
  controlOf,
  createOf,
  deliverOf,
  entryOf,
  FAILED,
  itemOf,
  journalOf,
  matches,
  PENDING,
  runOf,
  started,
  T,
} from './fixture.ts'
import type { Suite } from './suite.ts'

export function advanceEndTests({ describe, scenario }: Suite): void {
  describe('advance: the end', () => {
    for (const to of [COMPLETED, FAILED, CANCELLED]) {
      scenario(`ends a run as ${to.status}`, async (store) => {
        const run = await started(store, { id: 'a' })
        const state = await apply(store, advanceOf(run, to), T + 5)
        assert.deepEqual(state, { status: to.status, dueAt: null })
        assert.deepEqual(await runOf(store, 'a'), {
          ...run,
          status: to.status,
          output: to.output,
          error: to.error,
          owner: null,
          endedAt: T + 5,
          expiresAt: T + 5 + run.policy.retention,
        })
      })
    }

    for (const to of [COMPLETED, FAILED]) {
      scenario(
        `ends as cancelled if a cancel was accepted before it would end as ${to.status}`,
        async (store) => {
          const run = await started(store, { id: 'a' })
          await apply(store, cancelOf('a'))
          const state = await apply(store, advanceOf(run, { ...to, output: '"out"' }))
          assert.deepEqual(state, { status: 'cancelled', dueAt: null })
          matches(await runOf(store, 'a'), {
            status: 'cancelled',
            output: null,
            error: to.cancelled,
            cancelReason: 'not needed',
            endedAt: T,
          })
        },
      )
    }

    scenario('keeps the error of a run that ends as cancelled by itself', async (store) => {
      const run = await started(store, { id: 'a' })
      await apply(store, cancelOf('a'))
      await apply(store, advanceOf(run, CANCELLED))
      matches(await runOf(store, 'a'), { status: 'cancelled', error: CANCELLED.error })
    })

    scenario('sees a cancel of the same batch if it comes first', async (store) => {
      const a = await started(store, { id: 'a' })
      const b = await started(store, { id: 'b' })
      const results = await store.commit(
        [cancelOf('a'), advanceOf(a, COMPLETED), advanceOf(b, COMPLETED), cancelOf('b')],
        T,
      )
      assert.deepEqual(results.at(-1), { status: 'refused', runStatus: 'completed' })
      matches(await runOf(store, 'a'), { status: 'cancelled', output: null })
      matches(await runOf(store, 'b'), { status: 'completed', cancelReason: null })
    })

    scenario('drops the error of an earlier attempt when the run completes', async (store) => {
      const run = await started(store, { id: 'a' })
      await apply(store, advanceOf(run, PENDING))
      await apply(store, advanceOf(await claimOne(store, { now: T + 500 }), COMPLETED))
      matches(await runOf(store, 'a'), { error: null, output: '"out"', attempt: 2 })
    })

    scenario('ends a run whose pause was asked for, and never pauses it', async (store) => {
      const run = await started(store, { id: 'a' })
      await apply(store, controlOf('pause', 'a'))
      await apply(store, advanceOf(run, COMPLETED))
      matches(await runOf(store, 'a'), {
        status: 'completed',
        pauseRequested: false,
        pausedFrom: null,
        owner: null,
      })
    })

    scenario('ends a run that has unseen deliveries', async (store) => {
      const run = await started(store, { id: 'a' })
      await apply(store, deliverOf('a', itemOf('i')))
      assert.deepEqual(await apply(store, advanceOf(run, COMPLETED)), { status: 'completed', dueAt: null })
    })

    scenario('keeps the deaths of a run that ends without progress', async (store) => {
      await apply(store, createOf({ id: 'a' }))
      await claimOne(store)
      await store.reap(T, 10)
      await apply(store, advanceOf(await claimOne(store), FAILED))
      matches(await runOf(store, 'a'), { status: 'failed', deaths: 1, attempt: 2 })
    })

    scenario('stores the last entries in the same write', async (store) => {
      const run = await started(store, { id: 'a' })
      await apply(store, advanceOf(run, COMPLETED, { entries: [entryOf('last')] }))
      assert.deepEqual((await journalOf(store, 'a')).entries, [entryOf('last')])
    })
  })
}
