/** A Redis that has died must not keep a process from ending. */
import { describe, expect, test } from 'vitest'
import { createQueueAdapter } from '../../src/queues/index.ts'
import { startRedis } from '../services/redis.ts'
import { serviceOrSkip } from '../services/service.ts'

const url = await serviceOrSkip('redis')

describe.skipIf(url === null)('the redis queue adapter', () => {
  test('is shut down also when its Redis is gone, and tells those who wait', async () => {
    const server = await startRedis()
    const queue = createQueueAdapter('redis', { url: server.url })
    await queue.process('handled', () => 'done')
    expect(await queue.waitForResult((await queue.enqueue('handled', 1)) ?? '')).toBe('done')
    const id = (await queue.enqueue('nobody', 1)) ?? ''
    const waiting = expect(queue.waitForResult(id)).rejects.toMatchObject({ code: 'QUEUE_CLOSED' })
    await queue.getJobStatus(id)
    await server.stop()
    await queue.shutdown({ timeout: 100 })
    await waiting
  })

  test.each([0, 1, '1000 days'])('refuses a lease that its timers cannot keep: %s', (lease) => {
    expect(() => createQueueAdapter('redis', { url: url ?? '', lease })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })

  test.each([null, 'x', 7])('refuses a repeat that is none: %s', async (repeat) => {
    const queue = createQueueAdapter('redis', { url: url ?? '' })
    await expect(queue.enqueue('t', 1, { repeat: repeat as never })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
    await queue.shutdown()
  })
})
