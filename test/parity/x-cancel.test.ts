import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { Store } from '../../src/ports/store.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'
import { called, codeOf, failing, signal, testEngine } from './kit.ts'
import { memoryDatabase } from './stores.ts'

const child = defineWorkflow({ name: 'child' }, async ({ step }) => {
  await step.do('child body', () => 'c')
  await step.sleep('child sleep', '1m')
})

const long = defineWorkflow({ name: 'long' }, async ({ step, run }) => {
  await step.do('a', () => 'a')
  await Promise.all([step.sleep('s', '1m'), step.do('b', () => 'b')])
  await run.save({ half: true })
  await step.do('child', child, null)
  await step.waitForEvent('e', { timeout: '1m' })
  return await step.do('c', () => 'c')
})

/** A store that sends a cancel just before, or after, its nth call. */
function cancelling(store: Store, nth: number, side: 'before' | 'after', calls: string[]): Store {
  const error = JSON.stringify({
    name: 'RunCancelledError',
    message: 'cancelled',
    perdure: true,
    code: 'RUN_CANCELLED',
  })
  const cancel = { type: 'control', action: 'cancel', runId: 'it', reason: 'now', error } as const
  return wrapStore(store, async (method, call, writes) => {
    if (!['commit', 'claim', 'journal'].includes(method)) return await call()
    const mine = calls.push(method) - 1 === nth
    const now = writes?.[0]?.type === 'create' ? writes[0].run.dueAt : Date.UTC(2030, 0, 1)
    if (mine && side === 'before') await store.commit([cancel], now)
    const result = await call()
    if (mine && side === 'after') await store.commit([cancel], now)
    return result
  })
}

describe.each([1000, 0])('a cancel, with %i hot runs', (hotRuns) => {
  it('B102 at any point of a run makes it end as one thing, and stay so', async () => {
    for (const side of ['before', 'after'] as const) {
      for (let nth = 0, more = true; more; nth += 1) {
        const calls: string[] = []
        const inner = memoryDatabase()()
        const store = cancelling(inner, nth, side, calls)
        const test = await testEngine({
          store,
          workflows: [long, child],
          hotRuns,
          lease: '1h',
          pollInterval: '10s',
        })
        await test.until(test.engine.startWorkflow(long, null, { id: 'it' }))
        await test.advance('5m')
        more = nth < calls.length
        const run = await inner.getRun('it')
        const expected = run?.cancelReason === 'now' ? 'cancelled' : 'completed'
        expect([side, nth, run?.status]).toEqual([side, nth, expected])
        const { runs } = await inner.listRuns({ parentId: 'it', limit: 10 })
        expect(runs.every(({ status }) => status === 'completed' || status === 'cancelled')).toBe(true)
        await test.advance('5m')
        expect(await inner.getRun('it')).toEqual(run)
        await test.close()
      }
    }
  })

  it('B103 reaches descendants that are created while it spreads', async () => {
    const leaf = defineWorkflow({ name: 'leaf' }, async ({ step }) => {
      for (;;) await step.sleep('on', '1m')
    })
    const branch = defineWorkflow({ name: 'branch' }, async ({ step }) => {
      const leaves: Promise<unknown>[] = []
      for (;;) {
        leaves.push(step.do('leaf', leaf, null))
        await step.sleep('next', 5)
      }
    })
    const root = defineWorkflow({ name: 'root' }, ({ step }) => {
      return Promise.all([step.do('branch', branch, null), step.do('branch', branch, null)])
    })
    for (const offset of [48, 50, 51]) {
      const test = await testEngine({ workflows: [root, branch, leaf], hotRuns })
      const handle = await test.engine.startWorkflow(root, null)
      await test.advance(offset)
      await handle.cancel('all of it')
      await test.advance('1s')
      const counts = await test.engine.stats()
      expect(counts.length).toBe(3)
      expect(counts.map(({ status }) => status)).toEqual(['cancelled', 'cancelled', 'cancelled'])
    }
  })

  it('B105 ends a backoff at once, and no attempt follows', async () => {
    const bad = failing(new Error('no'))
    const retry = { retries: 5, retryDelay: '10m' }
    const inline = defineWorkflow({ name: 'inline' }, ({ step }) => step.do('bad', bad, retry))
    const remote = defineWorkflow({ name: 'remote' }, ({ step }) => step.do('bad', 'bad', null, retry))
    const whole = defineWorkflow({ name: 'whole', retry }, ({ step }) => step.do('bad', bad))
    for (const workflow of [inline, remote, whole]) {
      const test = await testEngine({ workflows: [workflow], functions: { bad }, hotRuns })
      const handle = await test.engine.startWorkflow(workflow, null)
      await test.advance('1m')
      await handle.cancel()
      await test.advance('1s')
      const { runs } = await test.engine.listRuns()
      expect(runs.map(({ status }) => status)).toEqual(runs.map(() => 'cancelled'))
      await test.advance('1h')
      expect(test.bodies).toHaveLength(1)
    }
  })

  it('B106 of hundreds of runs in all states leaves nothing behind, and a quiet log', async () => {
    const lines: unknown[] = []
    const note = (message: string): void => void lines.push(message)
    const log = { debug: () => {}, info: () => {}, warn: note, error: note }
    const states = defineWorkflow({ name: 'states' }, async ({ input, step }) => {
      if (input === 0) await step.sleep('s', '1h')
      if (input === 1) await step.waitForEvent('e')
      if (input === 2) await step.do('bad', failing(new Error('x')), { retries: 3, retryDelay: '1h' })
      if (input === 3) await step.do('child', child, null)
    })
    const test = await testEngine({ workflows: [states, child], hotRuns, log })
    for (let index = 0; index < 300; index += 1) {
      await test.engine.startWorkflow(states, index % 5, index % 5 === 4 ? { delay: '1h' } : {})
    }
    await test.advance('1s')
    const { runs } = await test.engine.listRuns({ workflow: 'states', limit: 1000 })
    await Promise.all(runs.map(({ id }) => test.engine.cancel(id)))
    await test.advance('10s')
    expect(
      (await test.engine.stats()).map(({ workflow, status, count }) => [workflow, status, count]).sort(),
    ).toEqual([
      ['child', 'cancelled', 60],
      ['states', 'cancelled', 300],
    ])
    expect(lines).toEqual([])
  })
})

describe('a step that runs', () => {
  it('B107 learns within a heartbeat that another process cancelled its run', async () => {
    const [time, open, begun] = [new VirtualTime(), memoryDatabase(), signal()]
    let aborted = -1
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      await step.do('long', async ({ signal: abort }) => {
        begun.send()
        await new Promise<void>((resolve) => abort.addEventListener('abort', () => resolve()))
        aborted = time.now
        throw abort.reason
      })
    })
    const worker = await testEngine({
      time,
      store: open(),
      workflows: [workflow],
      lease: '15s',
      seed: 'worker',
    })
    const client = await testEngine({
      time,
      store: open(),
      workflows: [workflow],
      work: false,
      seed: 'client',
    })
    const { id } = await worker.engine.startWorkflow(workflow, null)
    await begun.promise
    const asked = time.now
    await client.engine.cancel(id, 'from elsewhere')
    await worker.advance('6s')
    expect(aborted - asked).toBeGreaterThanOrEqual(0)
    expect(aborted - asked).toBeLessThanOrEqual(5000)
    expect(await client.engine.getRun(id)).toMatchObject({
      status: 'cancelled',
      cancelReason: 'from elsewhere',
    })
  })

  it('B107 and ignores its signal does not hold up the cancel for ever', async () => {
    const begun = signal()
    const deaf = defineWorkflow({ name: 'deaf' }, ({ step }) => {
      return step.do('deaf', () => {
        begun.send()
        return new Promise(() => {})
      })
    })
    const test = await testEngine({ workflows: [deaf], abortGrace: '3s' })
    const handle = await test.engine.startWorkflow(deaf, null)
    await begun.promise
    await handle.cancel()
    await test.advance('3s')
    expect([await handle.status(), called(test)]).toEqual(['cancelled', ['deaf 1']])
    expect(codeOf(await test.until(handle.result()).catch((error: unknown) => error))).toBe('RUN_CANCELLED')
  })
})
