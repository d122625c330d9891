/** Pikku's queues and its scheduler, as runs of Perdure's. */
import { addFunction, pikkuState } from '@pikku/core/ecosystem'
import { type PikkuQueue, wireQueueWorker } from '@pikku/core/queue'
import { describe, expect, it } from 'vitest'
import type { PerdureServices } from '../../src/pikku/index.ts'
import { forEachStore } from '../parity/stores.ts'
import { until } from '../processes/kit.ts'
import { application, rpc } from './kit.ts'

/** Wires a worker of a queue, as Pikku's generated code does. */
function worker<Data>(name: string, func: (data: Data, queue: PikkuQueue) => unknown): void {
  pikkuState(null, 'queue', 'meta')[name] = { name, pikkuFuncId: name }
  pikkuState(null, 'function', 'meta')[name] = {
    pikkuFuncId: name,
    sessionless: true,
    functionType: 'helper',
    inputSchemaName: null,
    outputSchemaName: null,
  } as never
  const config = {
    func: async (_: unknown, data: Data, { queue }: { queue: PikkuQueue }) => await func(data, queue),
  }
  wireQueueWorker({ name, func: config as never })
  addFunction(name, config as never)
}

async function result({ queueService }: PerdureServices, queue: string, jobId: string): Promise<unknown> {
  const job = await queueService.getJob(queue, jobId)
  return await job?.waitForCompletion?.(20_000)
}

forEachStore((database) => {
  describe('a job', () => {
    it('is executed, and its result is kept', async () => {
      worker('double', ({ n }: { n: number }) => n * 2)
      const app = await application(database()())
      const jobId = await app.queueService.add('double', { n: 21 })
      expect(await result(app, 'double', jobId)).toBe(42)
      const job = await app.queueService.getJob('double', jobId)
      expect(job).toMatchObject({ id: jobId, queueName: 'double', data: { n: 21 }, result: 42 })
      expect(await job?.status()).toBe('completed')
      expect(await job?.metadata?.()).toMatchObject({ attemptsMade: 1, maxAttempts: 1 })
      expect(await app.queueService.getJob('double', 'none')).toBeNull()
    })

    it('is added once under an id', async () => {
      let calls = 0
      worker('counted', () => {
        calls += 1
      })
      const app = await application(database()())
      const ids = await Promise.all(
        [1, 2, 3].map(() => app.queueService.add('counted', {}, { jobId: 'same' })),
      )
      await result(app, 'counted', 'same')
      expect(ids).toEqual(['same', 'same', 'same'])
      expect(calls).toBe(1)
    })

    it('is tried again as often as it says, with its progress', async () => {
      let calls = 0
      worker('flaky', async (_, queue) => {
        calls += 1
        await queue.updateProgress(calls * 10)
        if (calls < 3) throw new Error('not yet')
        return calls
      })
      const app = await application(database()())
      const backoff = { type: 'fixed', delay: 10 }
      const jobId = await app.queueService.add('flaky', {}, { attempts: 3, backoff })
      expect(await result(app, 'flaky', jobId)).toBe(3)
      const job = await app.queueService.getJob('flaky', jobId)
      expect(await job?.metadata?.()).toMatchObject({ attemptsMade: 3, maxAttempts: 3, progress: 30 })
    })

    it('is not tried again when it is discarded, nor beyond its attempts', async () => {
      const calls = { discarded: 0, failing: 0 }
      worker('discarded', async (_, queue) => {
        calls.discarded += 1
        await queue.discard('of no use')
      })
      worker('failing', () => {
        calls.failing += 1
        throw new Error('never')
      })
      const app = await application(database()())
      const options = { attempts: 2, backoff: { type: 'fixed', delay: 1 } }
      const discarded = await app.queueService.add('discarded', {}, options)
      const failing = await app.queueService.add('failing', {}, options)
      await expect(result(app, 'discarded', discarded)).rejects.toThrow('of no use')
      await expect(result(app, 'failing', failing)).rejects.toThrow('never')
      expect(calls).toEqual({ discarded: 1, failing: 2 })
      const job = await app.queueService.getJob('failing', failing)
      expect(await job?.status()).toBe('failed')
      expect(await job?.metadata?.()).toMatchObject({ error: expect.stringContaining('never') })
    })

    it('waits for its time', async () => {
      worker('later', () => 'done')
      const app = await application(database()())
      const jobId = await app.queueService.add('later', {}, { delay: 3_600_000 })
      expect(await (await app.queueService.getJob('later', jobId))?.status()).toBe('delayed')
    })
  })

  describe('a scheduled call', () => {
    it('is made when its time has come', async () => {
      const calls: unknown[] = []
      rpc('note', (data) => calls.push(data))
      const { schedulerService } = await application(database()())
      const taskId = await schedulerService.scheduleRPC(20, 'note', { n: 1 })
      await until('it was made', () => calls.length > 0)
      expect(calls).toEqual([{ n: 1 }])
      await until('it is completed', async () => {
        return (await schedulerService.getTask(taskId))?.status === 'completed'
      })
    })

    it('can be looked at and taken back before', async () => {
      const { schedulerService } = await application(database()())
      const taskId = await schedulerService.scheduleRPC('2h', 'note', { n: 1 })
      expect(await schedulerService.getTask(taskId)).toMatchObject({
        taskId,
        rpcName: 'note',
        data: { n: 1 },
        status: 'scheduled',
      })
      expect(await schedulerService.getAllTasks()).toHaveLength(1)
      expect(await schedulerService.unschedule(taskId)).toBe(true)
      expect(await schedulerService.unschedule(taskId)).toBe(false)
      expect(await schedulerService.getAllTasks()).toEqual([])
      expect(await schedulerService.getTask(taskId)).toBeNull()
    })
  })
})
