import assert from 'node:assert/strict'
import { added, held, type QueueSuite, until } from './suite.ts'

/** Which job is which. */
export function identityTests({ describe, scenario, shared }: QueueSuite): void {
  describe('ids', () => {
    scenario(
      'X33: jobs that are enqueued in the same instant have ids of their own, and all are handled',
      async (queue) => {
        const seen = new Set<number>()
        await queue.process('tick', (n: number) => void seen.add(n))
        const ids = await Promise.all(Array.from({ length: 300 }, (_, n) => queue.enqueue('tick', n)))
        assert.equal(new Set(ids).size, 300)
        await until(() => seen.size === 300)
      },
    )

    scenario('X33: jobs that are due in the same instant are all handled', async (queue) => {
      const seen = new Set<number>()
      await queue.process('tick', (n: number) => void seen.add(n))
      await Promise.all(Array.from({ length: 50 }, (_, n) => queue.enqueue('tick', n, { delay: 120 })))
      await until(() => seen.size === 50)
    })

    scenario('X35: types and keys that read alike when joined are different jobs', async (queue) => {
      const pairs = [
        ...[['a', 'b/c'] as const, ['a/b', 'c'] as const, ['a', 'b:c'] as const, ['a:b', 'c'] as const],
        ...[['a', 'b-c'] as const, ['a-b', 'c'] as const, ['a%2Fb', 'c'] as const, ['a', '1'] as const],
        ...[['a', '01'] as const, ['a', ' 1'] as const, ['a', 'ä'] as const, ['a', 'a\u0308'] as const],
        ...[['a', `${'x'.repeat(1000)}1`] as const, ['a', `${'x'.repeat(1000)}2`] as const],
      ]
      const seen: string[] = []
      for (const type of new Set(pairs.map(([type]) => type))) {
        await queue.process(type, (key: string) => void seen.push(JSON.stringify([type, key])))
      }
      const ids = await Promise.all(pairs.map(([type, key]) => queue.enqueue(type, key, { jobId: key })))
      assert.equal(new Set(ids).size, pairs.length)
      await until(() => seen.length === pairs.length)
      assert.deepEqual(new Set(seen), new Set(pairs.map((pair) => JSON.stringify(pair))))
    })

    scenario('X45: a key that is enqueued many times at the same instant makes one job', async (queue) => {
      let handled = 0
      await queue.process('mail', () => {
        handled += 1
      })
      const ids = await Promise.all(
        Array.from({ length: 20 }, () => queue.enqueue('mail', 1, { jobId: 'k' })),
      )
      const id = ids.find((one) => one !== null) ?? ''
      assert.ok(ids.every((one) => one === null || one === id))
      await queue.waitForResult(id, '10s')
      assert.equal(await queue.enqueue('mail', 1, { jobId: 'k' }), null)
      assert.equal(handled, 1)
    })
  })

  describe('X36: an id that is enqueued again', () => {
    scenario(
      'gives the same job while it is pending, which is handled once, with its first payload',
      async (queue) => {
        const seen: string[] = []
        const first = await queue.enqueue('mail', 'first', { jobId: 'k' })
        assert.equal(await queue.enqueue('mail', 'second', { jobId: 'k' }), first)
        await queue.process('mail', (payload: string) => void seen.push(payload))
        await queue.waitForResult(added(first), '10s')
        assert.deepEqual(seen, ['first'])
      },
    )

    scenario('gives null while it is running, and is not executed beside itself', async (queue) => {
      const { begun, release, handler } = held()
      let calls = 0
      await queue.process('mail', () => {
        calls += 1
        return handler()
      })
      const id = await queue.enqueue('mail', 1, { jobId: 'k' })
      await begun
      assert.equal(await queue.getJobStatus(added(id)), 'running')
      assert.equal(await queue.enqueue('mail', 1, { jobId: 'k' }), null)
      release()
      assert.equal(await queue.waitForResult(added(id), '10s'), 'released')
      assert.equal(calls, 1)
    })

    scenario('gives null once it is done, and is not done again', async (queue) => {
      let calls = 0
      await queue.process('mail', () => {
        calls += 1
        return calls
      })
      const id = added(await queue.enqueue('mail', 1, { jobId: 'k' }))
      assert.equal(await queue.waitForResult(id, '10s'), 1)
      assert.equal(await queue.enqueue('mail', 1, { jobId: 'k' }), null)
      assert.equal(await queue.waitForResult(id, '10s'), 1)
    })

    scenario('starts a job over that has failed, with all of its attempts', async (queue) => {
      const attempts: number[] = []
      await queue.process('mail', (_: unknown, { attempt }) => {
        attempts.push(attempt)
        if (attempts.length < 4) throw new Error('out of paper')
        return 'done'
      })
      const options = { jobId: 'k', attempts: 2 }
      const id = added(await queue.enqueue('mail', 1, options))
      await assert.rejects(queue.waitForResult(id, '10s'), { code: 'JOB_FAILED' })
      assert.equal(await queue.enqueue('mail', 1, options), id)
      await until(() => attempts.length === 4)
      assert.equal(await queue.waitForResult(id, '10s'), 'done')
      assert.deepEqual(attempts, [1, 2, 1, 2])
    })

    scenario('starts a job over that was cancelled, with its first payload', async (queue) => {
      const seen: string[] = []
      const id = added(await queue.enqueue('mail', 'first', { jobId: 'k' }))
      assert.equal(await queue.cancelJob(id), true)
      assert.equal(await queue.enqueue('mail', 'second', { jobId: 'k' }), id)
      assert.equal(await queue.getJobStatus(id), 'pending')
      await queue.process('mail', (payload: string) => void seen.push(payload))
      await queue.waitForResult(id, '10s')
      assert.deepEqual(seen, ['first'])
    })
  })

  describe('X36: status and cancel', () => {
    scenario('are of the job of that type, not of another with the same key', async (queue) => {
      const mail = added(await queue.enqueue('mail', 1, { jobId: 'k' }))
      const sms = added(await queue.enqueue('sms', 1, { jobId: 'k' }))
      assert.equal(await queue.cancelJob(mail), true)
      assert.equal(await queue.getJobStatus(mail), 'cancelled')
      assert.equal(await queue.getJobStatus(sms), 'pending')
      await queue.process('sms', () => 'sent')
      assert.equal(await queue.waitForResult(sms, '10s'), 'sent')
    })

    shared('work from a process that has not opened the queue', async (queue, other) => {
      const first = added(await queue.enqueue('mail', 1, { jobId: 'k' }))
      const second = added(await queue.enqueue('mail', 2))
      assert.equal(await other.getJobStatus(first), 'pending')
      assert.equal(await other.cancelJob(second), true)
      assert.equal(await queue.getJobStatus(second), 'cancelled')
      const waiting = other.waitForResult(first, '10s')
      await queue.process('mail', () => 'sent')
      assert.equal(await waiting, 'sent')
      assert.equal(await other.getJobStatus(first), 'completed')
      assert.equal(await other.enqueue('mail', 1, { jobId: 'k' }), null)
    })

    shared('jobs are handled by whichever process handles their type', async (queue, other) => {
      const id = added(await queue.enqueue('mail', { to: 'ada' }))
      await other.process('mail', ({ to }: { to: string }) => `sent to ${to}`)
      assert.equal(await queue.waitForResult(id, '10s'), 'sent to ada')
    })
  })
}
