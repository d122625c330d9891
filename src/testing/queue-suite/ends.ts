import assert from 'node:assert/strict'
import { added, held, type QueueSuite, until } from './suite.ts'

/** The code of an error, and the call that must reject with it. */
type Refused = readonly [string, () => Promise<unknown>]

/** Bad input, repeating jobs, and the end. */
export function endTests({ describe, scenario }: QueueSuite): void {
  describe('bad input', () => {
    scenario('is refused with a typed error, and nothing is added', async (queue) => {
      const odd = (value: unknown): never => value as never
      const refused: readonly Refused[] = [
        ['INVALID_NAME', () => queue.enqueue('', 1)],
        ['INVALID_NAME', () => queue.enqueue('x'.repeat(129), 1)],
        ['INVALID_NAME', () => queue.enqueue(odd(7), 1)],
        ...['', ' ', odd(7), odd(false), '\ud800', 'x'.repeat(1025)].map((jobId): Refused => {
          return ['INVALID_NAME', () => queue.enqueue('mail', 1, { jobId })]
        }),
        ['UNSERIALIZABLE_VALUE', () => queue.enqueue('mail', () => {})],
        ['VALUE_TOO_LARGE', () => queue.enqueue('mail', 'x'.repeat(2 ** 20))],
        ['INVALID_DURATION', () => queue.enqueue('mail', 1, { delay: -1 })],
        ['INVALID_DURATION', () => queue.enqueue('mail', 1, { backoff: 'soon' })],
        ['INVALID_ARGUMENT', () => queue.enqueue('mail', 1, { attempts: 0 })],
        ['INVALID_ARGUMENT', () => queue.enqueue('mail', 1, { attempts: 1.5 })],
        ['INVALID_ARGUMENT', () => queue.enqueue('mail', 1, { priority: -1 })],
        ['INVALID_ARGUMENT', () => queue.enqueue('mail', 1, { backoff: odd({ type: 'x', delay: 1 }) })],
        ['INVALID_ARGUMENT', () => queue.enqueue('mail', 1, odd(null))],
        ['INVALID_ARGUMENT', () => queue.process('mail', odd(null))],
        ['INVALID_ARGUMENT', () => queue.process('mail', () => {}, { concurrency: 0 })],
        ['INVALID_NAME', () => queue.process(' ', () => {})],
      ]
      for (const [code, call] of refused) await assert.rejects(call, { code })
      const seen: unknown[] = []
      await queue.process('mail', (payload: unknown) => void seen.push(payload))
      await queue.waitForResult(added(await queue.enqueue('mail', 'good')), '10s')
      assert.deepEqual(seen, ['good'])
      await assert.rejects(
        queue.process('mail', () => {}),
        { code: 'INVALID_ARGUMENT' },
      )
    })
  })

  describe('a repeating job', () => {
    scenario(
      'is made again and again until it is cancelled, or refused where that is not supported',
      async (queue) => {
        const options = { jobId: 'k', repeat: { every: 60 } }
        if (!queue.supportsRepeat) {
          await assert.rejects(queue.enqueue('pulse', 1, options), { code: 'INVALID_ARGUMENT' })
          return
        }
        let calls = 0
        await queue.process('pulse', () => {
          calls += 1
        })
        const id = added(await queue.enqueue('pulse', 1, options))
        assert.equal(await queue.getJobStatus(id), 'pending')
        await until(() => calls >= 3)
        assert.equal(await queue.cancelJob(id), true)
        assert.equal(await queue.getJobStatus(id), 'not_found')
      },
    )
  })

  describe('shutdown', () => {
    scenario('waits for the jobs that run, and is idempotent', async (queue) => {
      const { begun, release, handler } = held()
      let ended = false
      await queue.process('mail', async () => {
        await handler()
        ended = true
      })
      await queue.enqueue('mail', 1)
      await begun
      const closing = Promise.all([queue.shutdown(), queue.shutdown()])
      release()
      await closing
      await until(() => ended)
      await queue.shutdown()
    })

    scenario('ends all use of the adapter', async (queue) => {
      await queue.shutdown()
      const calls = [
        () => queue.enqueue('mail', 1),
        () => queue.process('mail', () => {}),
        () => queue.waitForResult('mail/x', '1s'),
        () => queue.cancelJob('mail/x'),
        () => queue.getJobStatus('mail/x'),
      ]
      for (const call of calls) await assert.rejects(call, { code: 'QUEUE_CLOSED' })
    })
  })
}
