import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { Store, Write } from '../../src/ports/store.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'
import { leadsTo } from './faults.ts'
import { mortalEngine, testEngine } from './kit.ts'
import { memoryDatabase } from './stores.ts'

/** A store that changes what it is told to write. */
function tampering(store: Store, change: (write: Write) => Write): Store {
  return { ...store, commit: (writes, now) => store.commit(writes.map(change), now) }
}

// What the other tests of these rows would show if the engine, or its store, had the fault.
describe('the tests of a row notice the fault', () => {
  const calls = defineWorkflow({ name: 'calls' }, ({ step }) => step.do('remote', 'work', 3))
  const functions = { work: (n: number) => n * 2 }

  it('X3 that a step is scheduled and its run never made: the run hangs', async () => {
    const store = tampering(memoryDatabase()(), (write) => {
      return write.type === 'advance' ? { ...write, children: [] } : write
    })
    const test = await testEngine({ store, workflows: [calls], functions })
    expect((await test.run(calls, null)).status).toBe('waiting')
  })

  it('B048 that a parking does not look for deliveries: the run hangs', async () => {
    const inner = memoryDatabase()()
    const careless = tampering(inner, (write) => {
      if (write.type !== 'advance' || write.to?.status !== 'waiting') return write
      return { ...write, to: { ...write.to, seen: Number.MAX_SAFE_INTEGER } }
    })
    const store = wrapStore(careless, async (method, call, writes = []) => {
      if (method === 'commit' && leadsTo('waiting')({ method, writes })) {
        const item = { id: 'answer', kind: 'event', name: 'e', payload: '["yes"]', at: 0 } as const
        await inner.commit([{ type: 'deliver', runId: 'it', item }], 0)
      }
      return await call()
    })
    const asks = defineWorkflow({ name: 'asks' }, ({ step }) => step.waitForEvent('e'))
    const test = await testEngine({ store, workflows: [asks] })
    expect((await test.run(asks, null, { id: 'it' })).status).toBe('waiting')
  })

  it('X4 that a claim gives a run to two workers: the step runs twice', async () => {
    let bodies = 0
    const open = memoryDatabase()
    const once = defineWorkflow({ name: 'once' }, ({ step }) => {
      return step.do('body', () => {
        bodies += 1
        return new Promise(() => {})
      })
    })
    const client = await testEngine({ store: open(), workflows: [once], work: false })
    await client.engine.startWorkflow(once, null)
    const shared = open()
    const generous = (): Store => ({
      ...shared,
      claim: async (request) => {
        const claimed = await shared.claim(request)
        if (claimed.length > 0) return claimed
        const { runs } = await shared.listRuns({ limit: 10, status: ['running'] })
        return runs.map((run) => ({ ...run, owner: request.worker }))
      },
    })
    for (const seed of ['one', 'two']) {
      await mortalEngine({ store: generous(), workflows: [once], time: client.time, seed })
    }
    await client.time.advance(5000)
    expect(bodies).toBe(2)
  })
})
