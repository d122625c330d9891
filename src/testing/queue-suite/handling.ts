import assert from 'node:assert/strict'
import { PermanentError } from '../../core/errors.ts'
import { added, held, type QueueSuite, until } from './suite.ts'

/** What becomes of jobs. */
export function handlingTests({ describe, scenario }: QueueSuite): void {
  describe('a job', () => {
    scenario('is handled with its payload as it was, and its result comes back as it was', async (queue) => {
      const cycle: { self?: unknown } = {}
      cycle.self = cycle
      const payload = { at: new Date(5), of: new Map([['a', undefined]]), big: 5n, not: Number.NaN, cycle }
      await queue.process('echo', (value: typeof payload) => value)
      const id = added(await queue.enqueue('echo', payload))
      assert.deepEqual(await queue.waitForResult(id, '10s'), payload)
    })

    scenario('may return nothing', async (queue) => {
      await queue.process('quiet', () => {})
      assert.equal(
        await queue.waitForResult(added(await queue.enqueue('quiet', undefined)), '10s'),
        undefined,
      )
    })

    scenario('is told its id, its type and its attempt', async (queue) => {
      await queue.process('who', (_: unknown, { id, jobType, attempt }) => ({ id, jobType, attempt }))
      const id = added(await queue.enqueue('who', null))
      assert.deepEqual(await queue.waitForResult(id, '10s'), { id, jobType: 'who', attempt: 1 })
    })

    scenario('X34: of many that are due at once, each is handled', async (queue) => {
      const seen: number[] = []
      await Promise.all(Array.from({ length: 100 }, (_, n) => queue.enqueue('batch', n)))
      await queue.process('batch', (n: number) => void seen.push(n), { concurrency: 7 })
      await until(() => seen.length === 100)
      assert.equal(new Set(seen).size, 100)
    })

    scenario('X34: waits for its delay, also for a part of a second', async (queue) => {
      await queue.process('late', () => Date.now())
      const before = Date.now()
      const id = added(await queue.enqueue('late', null, { delay: 300 }))
      assert.equal(await queue.getJobStatus(id), 'pending')
      const at = Number(await queue.waitForResult(id, '20s'))
      assert.ok(at - before >= 300, `after ${at - before} ms`)
    })

    scenario('goes before others of a greater priority number', async (queue) => {
      const seen: number[] = []
      for (const priority of [3, 1, 2, 0]) await queue.enqueue('rank', priority, { priority })
      await queue.process('rank', (n: number) => void seen.push(n), { concurrency: 1 })
      await until(() => seen.length === 4)
      assert.deepEqual(seen, [0, 1, 2, 3])
    })

    scenario('runs beside no more than `concurrency` allows', async (queue) => {
      let running = 0
      let most = 0
      let done = 0
      const handler = async (): Promise<void> => {
        running += 1
        most = Math.max(most, running)
        await new Promise((resolve) => setImmediate(resolve))
        running -= 1
        done += 1
      }
      await Promise.all(Array.from({ length: 40 }, () => queue.enqueue('few', null)))
      await queue.process('few', handler, { concurrency: 3 })
      await until(() => done === 40)
      assert.ok(most <= 3, `${most} at once`)
    })

    scenario('X37: without a handler is pending, and is handled once one comes', async (queue) => {
      const id = added(await queue.enqueue('nobody', 7))
      assert.equal(await queue.getJobStatus(id), 'pending')
      await assert.rejects(queue.waitForResult(id, 20), { code: 'WAIT_TIMEOUT' })
      await queue.process('nobody', (n: number) => n + 1)
      assert.equal(await queue.waitForResult(id, '10s'), 8)
    })
  })

  describe('X37: a job that fails', () => {
    scenario('is tried as often as `attempts` says, and counted', async (queue) => {
      const attempts: number[] = []
      await queue.process('flaky', (_: unknown, { attempt }) => {
        attempts.push(attempt)
        throw new TypeError(`attempt ${attempt}`)
      })
      const id = added(await queue.enqueue('flaky', null, { attempts: 3 }))
      await assert.rejects(queue.waitForResult(id, '10s'), (error: Error) => {
        assert.equal((error.cause as Error).message, 'attempt 3')
        return error.message.includes('attempt 3')
      })
      assert.deepEqual(attempts, [1, 2, 3])
      assert.equal(await queue.getJobStatus(id), 'failed')
    })

    scenario('is tried once by default', async (queue) => {
      let calls = 0
      await queue.process('flaky', () => {
        calls += 1
        throw new Error('no')
      })
      const id = added(await queue.enqueue('flaky', null))
      await assert.rejects(queue.waitForResult(id, '10s'), { code: 'JOB_FAILED' })
      assert.equal(calls, 1)
    })

    scenario('is tried again after its backoff, which may double', async (queue) => {
      const at: number[] = []
      await queue.process('flaky', () => {
        at.push(Date.now())
        if (at.length < 3) throw new Error('not yet')
      })
      const backoff = { type: 'exponential', delay: 100 } as const
      const id = added(await queue.enqueue('flaky', null, { attempts: 3, backoff }))
      await queue.waitForResult(id, '20s')
      const [first = 0, second = 0, third = 0] = at
      assert.ok(second - first >= 100 && third - second >= 200, at.join(' '))
    })

    scenario('is not tried again if its error is permanent, or says so', async (queue) => {
      let calls = 0
      await queue.process('refused', (how: string) => {
        calls += 1
        throw how === 'class'
          ? new PermanentError('gone')
          : Object.assign(new Error('gone'), { permanent: true })
      })
      for (const how of ['class', 'mark']) {
        const id = added(await queue.enqueue('refused', how, { attempts: 5 }))
        await assert.rejects(queue.waitForResult(id, '10s'), /gone/)
      }
      assert.equal(calls, 2)
    })

    scenario('may throw anything', async (queue) => {
      await queue.process('odd', () => {
        throw 'a text'
      })
      const id = added(await queue.enqueue('odd', null))
      await assert.rejects(queue.waitForResult(id, '10s'), /a text/)
    })
  })

  describe('cancelJob', () => {
    scenario('cancels what is pending, once, so that it is never handled', async (queue) => {
      const seen: number[] = []
      const now = added(await queue.enqueue('mail', 1))
      const later = added(await queue.enqueue('mail', 2, { delay: '1h', priority: 4 }))
      for (const id of [now, later]) {
        assert.equal(await queue.cancelJob(id), true)
        assert.equal(await queue.getJobStatus(id), 'cancelled')
        assert.equal(await queue.cancelJob(id), false)
        await assert.rejects(queue.waitForResult(id, '10s'), { code: 'JOB_CANCELLED' })
      }
      await queue.process('mail', (n: number) => void seen.push(n))
      await queue.waitForResult(added(await queue.enqueue('mail', 3)), '10s')
      assert.deepEqual(seen, [3])
    })

    scenario('ends the wait of those who wait for the job', async (queue) => {
      const id = added(await queue.enqueue('mail', 1))
      const waiting = assert.rejects(queue.waitForResult(id, '10s'), { code: 'JOB_CANCELLED' })
      await queue.cancelJob(id)
      await waiting
    })

    scenario('leaves alone what is running, has ended, or does not exist', async (queue) => {
      const { begun, release, handler } = held()
      await queue.process('mail', handler)
      const id = added(await queue.enqueue('mail', 1))
      await begun
      assert.equal(await queue.cancelJob(id), false)
      release()
      assert.equal(await queue.waitForResult(id, '10s'), 'released')
      assert.equal(await queue.cancelJob(id), false)
      assert.equal(await queue.getJobStatus(id), 'completed')
      for (const none of ['', 'x', 'mail/none', 'no/such/thing', '%/x']) {
        assert.equal(await queue.cancelJob(none), false)
      }
    })

    scenario('ends the attempts of a job that waits for its next', async (queue) => {
      let calls = 0
      await queue.process('flaky', () => {
        calls += 1
        throw new Error('no')
      })
      const id = added(await queue.enqueue('flaky', null, { attempts: 9, backoff: '1h' }))
      await until(async () => calls === 1 && (await queue.getJobStatus(id)) === 'pending')
      assert.equal(await queue.cancelJob(id), true)
      await assert.rejects(queue.waitForResult(id, '10s'), { code: 'JOB_CANCELLED' })
      assert.equal(calls, 1)
    })
  })

  describe('waitForResult', () => {
    scenario(
      'X37: finds the result of a job that has just ended, and of one that ended before',
      async (queue) => {
        await queue.process('quick', (n: number) => n)
        for (let n = 0; n < 20; n += 1) {
          const id = added(await queue.enqueue('quick', n))
          assert.equal(await queue.waitForResult(id, '10s'), n)
          assert.equal(await queue.waitForResult(id, '10s'), n)
        }
      },
    )

    scenario('rejects for a job that does not exist', async (queue) => {
      for (const id of ['', 'x', 'mail/none', 'no/such/thing', '%/x']) {
        await assert.rejects(queue.waitForResult(id, '1s'), { code: 'JOB_NOT_FOUND' })
        assert.equal(await queue.getJobStatus(id), 'not_found')
      }
    })
  })
}
