import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { createTestEngine } from '../../src/testing/test-engine.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'

const reminder = defineWorkflow({ name: 'reminder' }, async ({ input, step }) => {
  await step.sleep('wait', '30 days')
  return await step.do('remind', () => `remember: ${input}`)
})

const approval = defineWorkflow({ name: 'approval' }, async ({ step }) => {
  return await step.waitForEvent('approved')
})

describe('a test engine', () => {
  it('runs a workflow of a month at once', async () => {
    const test = await createTestEngine({ workflows: [reminder] })
    const before = test.time.now
    const { status, output } = await test.run(reminder, 'milk')
    expect(status).toBe('completed')
    expect(output).toBe('remember: milk')
    expect(test.time.now - before).toBe(30 * 86_400_000)
    expect(test.bodies).toMatchObject([{ key: 'remind', attempt: 1, outcome: 'succeeded' }])
    await test.close()
  })

  it('starts workflows and functions by name', async () => {
    const functions = { double: (n: number) => n * 2 }
    const test = await createTestEngine({ workflows: [reminder], functions })
    expect((await test.run('double', 21)).output).toBe(42)
    expect((await test.run('reminder', 'x')).output).toBe('remember: x')
    await test.close()
  })

  it('returns when nothing more can happen, and goes on after an event', async () => {
    const test = await createTestEngine({ workflows: [approval] })
    const { status, handle } = await test.run(approval, null)
    expect(status).toBe('waiting')
    await test.engine.sendEvent(handle.id, 'approved', 'yes')
    expect(await test.until(handle.result())).toBe('yes')
    await test.close()
  })

  it('becomes idle although somebody waits for a result', async () => {
    const test = await createTestEngine({ workflows: [approval] })
    const handle = await test.engine.startWorkflow(approval, null)
    const result = handle.result()
    await test.runUntilIdle()
    await test.engine.sendEvent(handle.id, 'approved', 1)
    await test.runUntilIdle()
    expect(await result).toBe(1)
    await test.close()
  })

  it('gives the error of a failed run, and never throws it', async () => {
    const fails = defineWorkflow({ name: 'fails' }, () => {
      throw new TypeError('no')
    })
    const test = await createTestEngine({ workflows: [fails] })
    const { status, error, output } = await test.run(fails, null)
    expect([status, output]).toEqual(['failed', undefined])
    expect(error).toMatchObject({ name: 'TypeError', message: 'no' })
    await test.close()
  })

  it('advances by a duration, and no further', async () => {
    const test = await createTestEngine({ workflows: [reminder] })
    const handle = await test.engine.startWorkflow(reminder, 'x')
    await test.advance('29 days')
    expect(await handle.status()).toBe('waiting')
    await test.advance('1 day')
    expect(await handle.status()).toBe('completed')
    await test.close()
  })

  it('waits in real time for bodies that do real work', async () => {
    const works = defineWorkflow({ name: 'works' }, async ({ step }) => {
      return await step.do('turns', turns, { timeout: '1s' })
    })
    const turns = async () => {
      for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      return 'done'
    }
    const test = await createTestEngine({ workflows: [works] })
    const before = test.time.now
    expect((await test.run(works, null)).output).toBe('done')
    expect(test.time.now).toBe(before)
    await test.close()
  })

  it('moves time on for bodies that wait for it', async () => {
    const hangs = defineWorkflow({ name: 'hangs' }, async ({ step }) => {
      return await step.do('hang', () => new Promise(() => {}), { timeout: '1h' })
    })
    const test = await createTestEngine({ workflows: [hangs], patience: 5 })
    const { error } = await test.run(hangs, null)
    expect(error).toMatchObject({ code: 'STEP_TIMEOUT' })
    await test.close()
  })

  it('waits in real time for a store that answers later', async () => {
    const store = wrapStore(memory(), async (_method, call) => {
      for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      return await call()
    })
    const test = await createTestEngine({ workflows: [reminder], store })
    expect((await test.run(reminder, 'tea')).output).toBe('remember: tea')
    await test.close()
  })

  it('keeps a lease that the test chooses, on a store that answers later', async () => {
    const store = wrapStore(memory(), async (_method, call) => {
      await new Promise((resolve) => setImmediate(resolve))
      return await call()
    })
    const naps = defineWorkflow({ name: 'naps' }, async ({ step }) => {
      await step.sleep('a nap', '5m')
      return 'awake'
    })
    const warnings: string[] = []
    const log = { debug() {}, info() {}, error() {}, warn: (text: string) => void warnings.push(text) }
    const test = await createTestEngine({ workflows: [naps], store, lease: '3s', log })
    expect((await test.run(naps, null)).output).toBe('awake')
    expect(warnings).toEqual([])
    await test.close()
  })

  it('calls a loop without end by its name', async () => {
    const forever = defineWorkflow({ name: 'forever' }, async ({ step }) => {
      for (;;) await step.sleep('again', '1s')
    })
    const test = await createTestEngine({ workflows: [forever], maxMoves: 100 })
    await expect(test.run(forever, null)).rejects.toThrow('never comes to an end')
    await test.close()
  })

  it('says so when what a test waits for cannot happen', async () => {
    const test = await createTestEngine({ workflows: [approval], patience: 5 })
    const handle = await test.engine.startWorkflow(approval, null)
    await expect(test.until(handle.result())).rejects.toThrow('Nothing more can happen')
    await test.close()
  })

  it('only starts runs if it is told so; another in the same time executes them', async () => {
    const [time, store] = [new VirtualTime(), memory()]
    const options = { workflows: [reminder], time, store, keepStoreOpen: true }
    const client = await createTestEngine({ ...options, seed: 'client', work: false })
    const { status, handle } = await client.run(reminder, 'x')
    expect(status).toBe('pending')
    const worker = await createTestEngine(options)
    await worker.runUntilIdle()
    expect(await handle.status()).toBe('completed')
    expect(client.bodies).toEqual([])
    await worker.close()
    await client.close()
  })
})
