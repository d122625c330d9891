/** What locks of other workflow services get wrong: who holds them, for how long, and by whose clock. */
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { PerdureWorkflowService } from '../../src/pikku/index.ts'
import type { Store } from '../../src/ports/store.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { type StoreMethod, wrapStore } from '../../src/testing/wrap-store.ts'
import { signal } from '../parity/kit.ts'
import { forEachStore } from '../parity/stores.ts'
import { ground } from '../postgres/kit.ts'
import { until } from '../processes/kit.ts'
import { application, caller, rpc, serviceOn, workflow } from './kit.ts'

const LEASE_MS = 1000
const HOUR_MS = 3_600_000

async function newRun(service: PerdureWorkflowService): Promise<string> {
  return await service.createRun('flow', {}, false, 'hash', { type: 'test' })
}

/** A store that counts the calls of one method. */
function counting(
  store: Store,
  counted: StoreMethod,
): { readonly store: Store; readonly calls: () => number } {
  let calls = 0
  const wrapped = wrapStore(store, (method, call) => {
    if (method === counted) calls += 1
    return call()
  })
  return { store: wrapped, calls: () => calls }
}

/** A store of a machine whose clock is wrong, and which has no other clock to go by. */
function withClockOff(store: Store, ms: number): Store {
  return { ...wrapStore(store, (_method, call) => call()), clock: async () => Date.now() + ms }
}

forEachStore((database) => {
  describe('X30: locks', () => {
    it('have names of their own, also where 32-bit hashes of the names are the same', async () => {
      const service = serviceOn(database()())
      const runId = await newRun(service)
      // "Aa" and "BB" have the same hash in Java and its like; a lock that both shared would wait for itself.
      const both = service.withStepLock(runId, 'Aa', () =>
        service.withStepLock(runId, 'BB', async () => 'both'),
      )
      expect(await both).toBe('both')
    })

    it('are let go of when the body throws', async () => {
      const open = database()
      const [one, two] = [serviceOn(open()), serviceOn(open())]
      const runId = await newRun(one)
      const fail = async (): Promise<never> => {
        throw new Error('the body')
      }
      await expect(one.withRunLock(runId, fail)).rejects.toThrow('the body')
      await expect(one.withStepLock(runId, 'step', fail)).rejects.toThrow('the body')
      expect(await two.withRunLock(runId, async () => 'free')).toBe('free')
      expect(await two.withStepLock(runId, 'step', async () => 'free')).toBe('free')
    })
  })

  describe('X31: a lock that is held for longer than its lease', () => {
    it('is renewed: nobody else gets in meanwhile', async () => {
      const open = database()
      const [renewals, looks] = [counting(open(), 'heartbeat'), counting(open(), 'reap')]
      const [one, two] = [serviceOn(renewals.store, LEASE_MS), serviceOn(looks.store, LEASE_MS)]
      const runId = await newRun(one)
      const [inside, go] = [signal(), signal()]
      const order: string[] = []
      const first = one.withRunLock(runId, async () => {
        inside.send()
        await go.promise
        order.push('first')
      })
      await inside.promise
      const second = two.withRunLock(runId, async () => order.push('second'))
      const since = Date.now()
      await until('two leases are over', () => Date.now() - since > 2 * LEASE_MS)
      const before = looks.calls()
      await until('the other one has looked again whether the first is dead', () => looks.calls() > before)
      expect(renewals.calls()).toBeGreaterThan(1)
      go.send()
      await Promise.all([first, second])
      expect(order).toEqual(['first', 'second'])
    })
  })

  describe('X31: a run that several workers want at once', () => {
    it('is executed by one of them, and does not fail', async () => {
      const open = database()
      await application(open(), { work: false })
      const services = [serviceOn(open()), serviceOn(open()), serviceOn(open())]
      const [one] = services
      const done: string[] = []
      rpc('note', ({ n }: { n: number }) => done.push(`rpc ${n}`))
      workflow('wanted', async (flow) => {
        await flow.do('inline', async () => done.push('inline'))
        await flow.do('rpc', 'note', { n: 1 })
        return 'ended'
      })
      const runId = await services[0]?.createRun('wanted', {}, true, 'hash-wanted', { type: 'test' })
      if (one === undefined || runId === undefined) throw new Error('There is no run.')
      const ticks = services.flatMap((service) => [1, 2].map(() => service.runWorkflowJob(runId, caller())))
      await Promise.all(ticks)
      expect(await one.getRun(runId)).toMatchObject({ status: 'completed', output: 'ended' })
      expect(done).toEqual(['inline', 'rpc 1'])
    })
  })

  describe('X32: the latest attempt', () => {
    it('is the one that was begun last, whatever the clocks of the machines say', async () => {
      const open = database()
      const slow = serviceOn(withClockOff(open(), -HOUR_MS), '30s')
      const fast = serviceOn(withClockOff(open(), HOUR_MS), '30s')
      const runId = await newRun(fast)
      let step = await fast.insertStepState(runId, 'step', 'x', {}, { retries: 9 })
      for (const service of [fast, slow, fast, slow]) {
        await service.setStepRunning(step.stepId)
        await service.setStepError(step.stepId, new Error(`attempt ${step.attemptCount}`))
        step = await service.createRetryAttempt(step.stepId, 'pending')
      }
      await slow.setStepRunning(step.stepId)
      await slow.setStepResult(step.stepId, 'fifth')
      for (const service of [fast, slow]) {
        const latest = await service.getStepState(runId, 'step')
        expect(latest).toMatchObject({ attemptCount: 5, status: 'succeeded', result: 'fifth' })
        const history = await service.getRunHistory(runId)
        expect(history.map(({ attemptCount }) => attemptCount)).toEqual([1, 2, 3, 4, 5])
      }
    })
  })
})

describe('X30: locks on PostgreSQL', () => {
  it('occupy no connection: ten of them are held while their bodies share a pool of two with the store', async () => {
    const { url, schema } = await ground()
    const pool = new pg.Pool({ connectionString: url, max: 2 })
    onTestFinished(() => pool.end())
    const store = postgres(pool, { schema })
    onTestFinished(() => store.close())
    const service = serviceOn(store)
    const runId = await newRun(service)
    let inside = 0
    const all = signal()
    const bodies = Array.from({ length: 10 }, (_, n) =>
      service.withStepLock(runId, `step ${n}`, async () => {
        inside += 1
        if (inside === 10) all.send()
        await all.promise
        return (await pool.query<{ n: number }>('SELECT $1::int AS n', [n])).rows[0]?.n
      }),
    )
    expect(await Promise.all(bodies)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
})
