import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { Step } from '../../src/engine/workflow.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'
import { advances, type Call, carries, type Fault, failsAt, faulty } from './faults.ts'
import { called, codeOf, rejection, testEngine, turns, unhandled } from './kit.ts'
import { forEachStore, memoryDatabase } from './stores.ts'

const two = defineWorkflow({ name: 'two' }, async ({ step }) => {
  const first = await step.do('first', () => 'one')
  return [first, await step.do('second', () => 'two')]
})

forEachStore((database) => {
  it('X5 a result whose commit was applied but not confirmed is neither lost nor made a failure', async () => {
    for (const key of ['first', 'second']) {
      const store = faulty(database()(), failsAt(carries(key), 'after', 2))
      const test = await testEngine({ store, workflows: [two] })
      const { status, output, handle } = await test.run(two, null)
      expect([status, output]).toEqual(['completed', ['one', 'two']])
      expect(called(test)).toEqual(['first 1', 'second 1'])
      expect((await handle.history()).entries.map(({ status }) => status)).toEqual(['succeeded', 'succeeded'])
    }
  })

  it('X6 a store that refuses the result of a step does not make the step fail', async () => {
    const store = faulty(database()(), failsAt(carries('first'), 'before', 5))
    const test = await testEngine({ store, workflows: [two], stepRetry: { retries: 3, retryDelay: 0 } })
    const { status, handle } = await test.run(two, null)
    expect([status, called(test)]).toEqual(['completed', ['first 1', 'second 1']])
    expect((await handle.history()).entries.map(({ attempts }) => attempts)).toEqual([[], []])
  })

  it('X13 a journal that cannot be read for a while is not an empty one', async () => {
    const sleepy = defineWorkflow({ name: 'sleepy' }, async ({ step }) => {
      const before = await step.do('before', () => 'once')
      await step.sleep('nap', '1h')
      return before
    })
    const store = faulty(
      database()(),
      failsAt(({ method }) => method === 'journal', 'before', 3),
    )
    const test = await testEngine({ store, workflows: [sleepy], hotRuns: 0 })
    expect((await test.run(sleepy, null)).output).toBe('once')
    expect(called(test)).toEqual(['before 1'])
  })

  it.each(['before', 'after'] as const)(
    'X21 a start that fails %s it was applied, and is repeated, makes one run',
    async (side) => {
      const creates = ({ writes }: Call): boolean => writes.some(({ type }) => type === 'create')
      const open = database()
      const store = faulty(open(), failsAt(creates, side, 100))
      const test = await testEngine({ store, workflows: [two] })
      const error = await rejection(test.until(test.engine.startWorkflow(two, null, { key: 'order 1' })))
      expect(codeOf(error)).toBe('STORE_UNAVAILABLE')
      await test.close()
      const next = await testEngine({ store: open(), workflows: [two], seed: 'next', time: test.time })
      const handle = await next.until(next.engine.startWorkflow(two, null, { key: 'order 1' }))
      expect(handle.created).toBe(side === 'before')
      expect(await next.until(handle.result())).toEqual(['one', 'two'])
      expect((await next.engine.listRuns()).runs).toHaveLength(1)
      expect(called(next)).toEqual(['first 1', 'second 1'])
    },
  )

  it('X21 a start whose answer was lost is known as created, and goes on at once', async () => {
    const creates = ({ writes }: Call): boolean => writes.some(({ type }) => type === 'create')
    const store = faulty(database()(), failsAt(creates, 'after'))
    const test = await testEngine({ store, workflows: [two] })
    const handle = await test.until(test.engine.startWorkflow(two, null))
    expect(handle.created).toBe(true)
    expect(await test.until(handle.result())).toEqual(['one', 'two'])
  })

  it('X21 a run is due from the moment at which it exists', async () => {
    const open = database()
    const client = await testEngine({ store: open(), workflows: [two], work: false })
    const { id } = await client.engine.startWorkflow(two, null)
    const found = await open().nextDue({ workflows: [{ name: 'two', version: '' }], queues: null })
    expect(found).toBe((await client.engine.getRun(id))?.createdAt)
  })
})

describe('the store fails now and then', () => {
  const ways: Readonly<Record<string, (step: Step, body: () => never) => Promise<unknown>>> = {
    inline: (step, body) => step.do('bad', body, { retries: 2, retryDelay: '1s' }),
    remote: (step) => step.do('bad', 'bad', null, { retries: 2, retryDelay: '1s' }),
  }

  it.each(Object.keys(ways).flatMap((way) => [[way, 'before'] as const, [way, 'after'] as const]))(
    'X11 an %s step with two retries is attempted three times although each commit fails first (%s)',
    async (way, side) => {
      let attempts = 0
      const body = (): never => {
        attempts += 1
        throw new Error(`attempt ${attempts}`)
      }
      const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => await ways[way]?.(step, body))
      let commits = 0
      const everyOther = ({ method }: Call): Fault =>
        method === 'commit' && commits++ % 2 === 0 ? side : null
      const store = faulty(memoryDatabase()(), everyOther)
      const test = await testEngine({ store, workflows: [workflow], functions: { bad: body }, lease: '15s' })
      const handle = await test.until(test.engine.startWorkflow(workflow, null))
      await test.advance('2m')
      const { cause } = (await rejection(test.until(handle.result()))) as Error
      expect(String(cause)).toBe('Error: attempt 3')
      const { entries } = await handle.history()
      expect(entries.map((entry) => entry.attempts.map((attempt) => String(attempt.error)))).toEqual([
        ['Error: attempt 1', 'Error: attempt 2', 'Error: attempt 3'],
      ])
      expect(attempts).toBe(3)
    },
  )

  it('B017 nothing after a step starts while its result cannot be saved', async () => {
    let broken = true
    const inner = memoryDatabase()()
    const store = faulty(inner, (call) => (broken && carries('first')(call) ? 'before' : null))
    const test = await testEngine({ store, workflows: [two] })
    const handle = await test.engine.startWorkflow(two, null)
    for (let round = 0; round < 50; round += 1) {
      await test.time.advance(1000)
      await turns(2)
    }
    expect(called(test)).toEqual(['first 1'])
    broken = false
    expect(await test.until(handle.result())).toEqual(['one', 'two'])
    expect(called(test)).toEqual(['first 1', 'second 1'])
  })

  it('B140 once at any call, and no rejection is left unhandled', async () => {
    const seen = unhandled()
    const child = defineWorkflow({ name: 'child' }, ({ step }) => step.do('c', () => 'c'))
    const workflow = defineWorkflow({ name: 'w' }, async ({ step, run }) => {
      const [a] = await Promise.all([
        step.do('a', () => 'a'),
        step.sleep('s', '1s'),
        step.do('child', child, null),
      ])
      await run.save({ a })
      return [a, await step.waitForEvent('go', { timeout: '1m' })]
    })
    for (const side of ['before', 'after'] as const) {
      for (let nth = 0, more = true; more; nth += 1) {
        let calls = 0
        const counted = ({ method }: Call): boolean => ['commit', 'claim', 'journal'].includes(method)
        const store = faulty(memoryDatabase()(), (call) => (counted(call) && calls++ === nth ? side : null))
        const test = await testEngine({
          store,
          workflows: [workflow, child],
          hotRuns: nth % 2,
          lease: '15s',
          pollInterval: '10s',
        })
        const handle = await test.until(test.engine.startWorkflow(workflow, null))
        await test.advance('5m')
        expect([nth, side, await test.until(handle.result())]).toEqual([nth, side, ['a', null]])
        more = nth < calls
        await test.close()
      }
    }
    await turns()
    expect(seen).toEqual([])
  })
})

describe('messages that arrive more than once', () => {
  it('B015 give each step its own result, and end the run once', async () => {
    const ends: string[] = []
    const inner = memoryDatabase()()
    const store = wrapStore(inner, async (method, call, writes = []) => {
      if (method !== 'commit') return await call()
      for (const write of advances(writes)) if (write.to?.status === 'completed') ends.push(write.runId)
      const result = await call()
      const doubled = advances(writes).flatMap(({ deliveries }) => [...deliveries].reverse())
      const again = doubled.map((delivery) => ({ type: 'deliver', ...delivery }) as const)
      if (again.length > 0) await inner.commit([...again, ...again], 0)
      return result
    })
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      const calls = Array.from({ length: 10 }, (_, n) => step.do<number>(`call ${n}`, 'square', n))
      return [
        await Promise.all(calls),
        await step.waitForEvent('e'),
        await step.waitForEvent('e', { timeout: '1h' }),
      ]
    })
    const test = await testEngine({
      store,
      workflows: [workflow],
      functions: { square: (n: number) => n * n },
    })
    const { handle } = await test.run(workflow, null)
    for (let time = 0; time < 3; time += 1)
      await test.engine.sendEvent(handle.id, 'e', 'event', { id: 'evt-1' })
    expect(await test.until(handle.result())).toEqual([[0, 1, 4, 9, 16, 25, 36, 49, 64, 81], 'event', null])
    expect(ends.filter((id) => id === handle.id)).toHaveLength(1)
    expect(test.bodies).toHaveLength(10)
  })

  it('X4 a step is done once, however many workers hear of it and however often', async () => {
    const open = memoryDatabase()
    let bodies = 0
    const functions = { count: () => ++bodies }
    const workflow = defineWorkflow({ name: 'w' }, ({ step }) => {
      return Promise.all(Array.from({ length: 20 }, (_, n) => step.do(`call ${n}`, 'count')))
    })
    const main = await testEngine({ store: open(), workflows: [workflow] })
    const handle = await main.engine.startWorkflow(workflow, null)
    const others = await Promise.all(
      [1, 2, 3].map((n) => testEngine({ store: open(), functions, time: main.time, seed: `worker ${n}` })),
    )
    for (const other of others) await other.runUntilIdle()
    const results = await main.until(handle.result())
    expect([...(results as number[])].sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, n) => n + 1),
    )
    expect(bodies).toBe(20)
  })
})
