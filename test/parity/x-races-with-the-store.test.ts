import { expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'
import { leadsTo } from './faults.ts'
import { realEngine, recorder, testEngine } from './kit.ts'
import { forEachStore } from './stores.ts'

forEachStore((database) => {
  it('X4 two deliveries of one step to two processes execute it once', async () => {
    const open = database()
    const calls = new Map<string, number>()
    const functions = {
      count: (_: unknown, { stepId }: { stepId: string }) => {
        calls.set(stepId, (calls.get(stepId) ?? 0) + 1)
        return stepId
      },
    }
    const workflow = defineWorkflow({ name: 'w' }, ({ step }) => {
      return Promise.all(Array.from({ length: 30 }, (_, n) => step.do(`call ${n}`, 'count')))
    })
    const main = await realEngine({ store: open(), workflows: [workflow] })
    await Promise.all([1, 2, 3].map(() => realEngine({ store: open(), functions })))
    const handle = await main.startWorkflow(workflow, null)
    const names = Array.from({ length: 30 }, (_, n) => `call ${n}`)
    expect(await handle.result({ timeout: '20s' })).toEqual(names)
    expect([...calls]).toHaveLength(30)
    expect([...calls.values()].every((count) => count === 1)).toBe(true)
  })

  it('X26 a step that ends at once is never overwritten by its own scheduling', async () => {
    const functions = { quick: (n: number) => n }
    const workflow = defineWorkflow({ name: 'w' }, ({ step }) => {
      return Promise.all(Array.from({ length: 40 }, (_, n) => step.do<number>(`call ${n}`, 'quick', n)))
    })
    const test = await testEngine({ store: database()(), workflows: [workflow], functions })
    const { output, handle } = await test.run(workflow, null)
    expect(output).toEqual(Array.from({ length: 40 }, (_, n) => n))
    const { entries } = await handle.history()
    expect(entries.map(({ status, kind }) => [status, kind])).toEqual(
      Array.from({ length: 40 }, () => ['succeeded', 'child']),
    )
  })

  it('B048 what arrives while a run is being parked wakes it', async () => {
    const store = database()()
    const sent = new Set<string>()
    // The answer comes in the last moment: after the engine decided to park, before that is written.
    const eager = wrapStore(store, async (method, call, writes = []) => {
      if (method === 'commit' && leadsTo('waiting')({ method, writes })) {
        for (const write of writes) {
          if (write.type !== 'advance' || sent.has(write.runId)) continue
          sent.add(write.runId)
          const item = { id: 'answer', kind: 'event', name: 'answer', payload: '["yes"]', at: 0 } as const
          await store.commit([{ type: 'deliver', runId: write.runId, item }], 0)
        }
      }
      return await call()
    })
    const asks = defineWorkflow({ name: 'asks' }, async ({ step }) => {
      await step.do('big', () => 'x'.repeat(200_000))
      return await step.waitForEvent('answer')
    })
    const test = await testEngine({ store: eager, workflows: [asks] })
    const handles = await Promise.all(Array.from({ length: 40 }, () => test.engine.startWorkflow(asks, null)))
    const results = await Promise.all(handles.map((handle) => test.until(handle.result())))
    expect(results).toEqual(Array.from({ length: 40 }, () => 'yes'))
    expect(sent.size).toBe(40)
  })

  it('B048 an event that is sent from a step of the run itself is found', async () => {
    const { events, observer } = recorder()
    const asks = defineWorkflow({ name: 'asks' }, async ({ step, run }) => {
      await step.do('ask', () => test.engine.sendEvent(run.id, 'answer', 'early'))
      return await step.waitForEvent('answer')
    })
    const test = await testEngine({ store: database()(), workflows: [asks], observer })
    expect((await test.run(asks, null)).output).toBe('early')
    expect(events.filter(({ type }) => type === 'body-started')).toHaveLength(1)
  })

  it('B018 of twenty parallel steps each runs once, with three workers about', async () => {
    const open = database()
    const counts = new Map<string, number>()
    const workflow = defineWorkflow({ name: 'w' }, ({ step, run }) => {
      const body = async ({ stepId }: { stepId: string }): Promise<void> => {
        const key = `${run.id} ${stepId}`
        counts.set(key, (counts.get(key) ?? 0) + 1)
        for (let turn = stepId.length % 3; turn > 0; turn -= 1)
          await new Promise((resolve) => setImmediate(resolve))
      }
      return Promise.all(Array.from({ length: 20 }, (_, n) => step.do('x'.repeat(n + 1), body)))
    })
    const engines = await Promise.all(
      [1, 2, 3].map(() => realEngine({ store: open(), workflows: [workflow] })),
    )
    const starts = Array.from({ length: 30 }, (_, n) => engines[n % 3]?.startWorkflow(workflow, null))
    for (const handle of await Promise.all(starts)) await handle?.result({ timeout: '20s' })
    expect(counts.size).toBe(600)
    expect([...counts.values()].every((count) => count === 1)).toBe(true)
  })
})
