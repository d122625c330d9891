import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { Step } from '../../src/engine/workflow.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { called, failing, messageOf, testEngine, turns, unhandled } from './kit.ts'

type Combine = (promises: readonly Promise<unknown>[]) => Promise<unknown>

const combinators: Readonly<Record<string, Combine>> = {
  'one by one': async (promises) => {
    const results: unknown[] = []
    for (const promise of promises) results.push(await promise.catch(messageOf))
    return results
  },
  all: (promises) => Promise.all(promises).catch(messageOf),
  any: (promises) => Promise.any(promises).catch(messageOf),
  race: (promises) => Promise.race(promises).catch(messageOf),
  allSettled: async (promises) => (await Promise.allSettled(promises)).map(({ status }) => status),
}

describe.each(Object.entries(combinators))('failing steps, then %s', (_, combine) => {
  const functions = { fails: failing(new Error('remote')) }
  const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
    const early = step.do('early', failing(new Error('early')))
    const child = step.do('child', 'fails')
    await step.sleep('before', '1s')
    const result = await combine([early, child, step.do('good', () => 'good')])
    for (let round = 0; round < 4; round += 1) await step.sleep('again', '1s')
    return result
  })

  it('B137 leave no rejection unhandled, though they fail before they are awaited', async () => {
    const seen = unhandled()
    const test = await testEngine({ workflows: [workflow], functions })
    const { status } = await test.run(workflow, null)
    await turns()
    expect([status, seen]).toEqual(['completed', []])
  })

  it('B138 are as quiet on a replay, with the same result', async () => {
    const seen = unhandled()
    const hot = await testEngine({ workflows: [workflow], functions })
    const cold = await testEngine({ workflows: [workflow], functions, hotRuns: 0 })
    const [live, replayed] = [await hot.run(workflow, null), await cold.run(workflow, null)]
    await turns()
    expect([replayed.status, seen]).toEqual(['completed', []])
    expect(replayed.output).toEqual(live.output)
  })
})

describe('parallel steps', () => {
  it('B139 reject with the same class before and after a wait', async () => {
    const views: unknown[] = []
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      const all = [
        step.do('type', failing(new TypeError('t'))),
        step.do('range', failing(new RangeError('r'))),
      ]
      const settled = await Promise.allSettled(all)
      const reasons = settled.map((one) => (one.status === 'rejected' ? one.reason : null))
      views.push(reasons.map((error) => [error.name, error.message, error instanceof TypeError]))
      await step.sleep('a', '1m')
      await step.sleep('b', '1m')
    })
    const test = await testEngine({ workflows: [workflow], hotRuns: 0 })
    await test.run(workflow, null)
    const view = [
      ['TypeError', 't', true],
      ['RangeError', 'r', false],
    ]
    expect(views).toEqual([view, view, view])
  })

  it.each([1000, 0])(
    'B141 that fail and are not awaited do not hold up the run, and are seen in its history (%i hot runs)',
    async (hotRuns) => {
      const seen = unhandled()
      const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
        void step.do('forgotten', failing(new Error('forgotten failure')))
        await step.sleep('pause', 100)
        return 'ok'
      })
      const test = await testEngine({ workflows: [workflow], hotRuns })
      const { status, output, handle } = await test.run(workflow, null)
      expect([status, output, seen]).toEqual(['completed', 'ok', []])
      const forgotten = (await handle.history()).entries.find(({ name }) => name === 'forgotten')
      expect(forgotten).toMatchObject({ status: 'failed', error: { message: 'forgotten failure' } })
      expect(called(test)).toEqual(['forgotten 1'])
    },
  )

  it('B143 with one name and different bodies have results in their places, after replays too', async () => {
    const fetchPage = (step: Step, page: number) => step.do('GET example.com', () => `page ${page}`)
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      const parallel = await Promise.all([1, 2, 3, 4, 5].map((page) => fetchPage(step, page)))
      await step.sleep('pause', '1m')
      const serial: string[] = []
      for (const page of [6, 7, 8, 9, 10]) serial.push(await fetchPage(step, page))
      await step.sleep('pause', '1m')
      return [...parallel, ...serial]
    })
    const test = await testEngine({ workflows: [workflow], hotRuns: 0 })
    const pages = Array.from({ length: 10 }, (_, index) => `page ${index + 1}`)
    expect((await test.run(workflow, null)).output).toEqual(pages)
    expect(test.bodies).toHaveLength(10)
  })

  it('B144 may have every name that the engine itself uses', async () => {
    const names = [
      '#interrupt',
      '#cancel',
      '#save:1',
      '#checkpoint:x',
      'x',
      'now()',
      'random()',
      'uuid()',
      'patched:p',
      'call',
      'e',
      'a',
      'a#2',
      'a##2',
      '#',
      '__proto__',
    ]
    const workflow = defineWorkflow({ name: 'w' }, async ({ step, run }) => {
      const results: unknown[] = []
      for (const name of names) {
        results.push(await step.do(name, () => name))
        await run.save({ x: name })
        step.now()
        step.random()
        step.uuid()
        step.patched('p')
        await step.sleep('a', '1s')
      }
      return [results, run.checkpoints['x'], await step.waitForEvent('e', { timeout: '1s' })]
    })
    for (const hotRuns of [1000, 0]) {
      const test = await testEngine({ workflows: [workflow], hotRuns })
      const { output, error } = await test.run(workflow, null)
      expect([output, error]).toEqual([[names, '__proto__', null], undefined])
      expect(test.bodies).toHaveLength(names.length)
    }
  })

  it.each([1000, 0])('B145 in a loop with random sleeps run once each, with %i hot runs', async (hotRuns) => {
    let random = 1
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      for (let index = 0; index < 3; index += 1) {
        random = (random * 16_807) % 2_147_483_647
        await step.sleep('wait', random % 5000)
        await step.do(`s${index}`, () => null)
      }
    })
    const test = await testEngine({ workflows: [workflow], hotRuns })
    const { status, handle } = await test.run(workflow, null)
    expect([status, called(test)]).toEqual(['completed', ['s0 1', 's1 1', 's2 1']])
    expect(
      (await handle.history()).entries.filter(({ kind }) => kind === 'sleep').map(({ name }) => name),
    ).toEqual(['wait', 'wait#2', 'wait#3'])
  })

  it.each([1, 2, 3, 10])('B146 of a map, %i at a time, end on every replay', async (concurrency) => {
    const items = Array.from({ length: 50 }, (_, index) => index)
    let running = 0
    let most = 0
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      const results = await step.map(
        'item',
        items,
        async (item) => {
          running += 1
          most = Math.max(most, running)
          await turns(item % 3)
          running -= 1
          return item * 2
        },
        { concurrency },
      )
      for (let round = 0; round < 3; round += 1) await step.sleep('again', '1m')
      return results
    })
    const test = await testEngine({ workflows: [workflow], hotRuns: 0, patience: 200 })
    expect((await test.run(workflow, null)).output).toEqual(items.map((item) => item * 2))
    expect([test.bodies.length, most]).toEqual([50, concurrency])
  })
})

describe('races', () => {
  const contenders = ['event', 'sleep', 'step', 'child'] as const
  const pairs = contenders.flatMap((one) =>
    contenders.filter((other) => other !== one).map((other) => [one, other] as const),
  )

  it.each(pairs)('B147 of %s and %s have one winner on every replay', async (one, other) => {
    const time = new VirtualTime()
    const clock = time.environment()
    const later = (): Promise<string> => new Promise((resolve) => clock.setTimer(10, () => resolve('step')))
    const quick = defineWorkflow({ name: 'quick' }, async ({ step }) => {
      await step.sleep('a little', 10)
      return 'child'
    })
    const ways: Readonly<Record<(typeof contenders)[number], (step: Step) => Promise<unknown>>> = {
      event: (step) => step.waitForEvent('e').then(() => 'event'),
      sleep: (step) => step.sleep('s', 10).then(() => 'sleep'),
      step: (step) => step.do('d', later),
      child: (step) => step.do('c', quick, null),
    }
    for (const eventAt of [9, 10, 11]) {
      const winners: unknown[] = []
      const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
        const winner = await Promise.race([ways[one](step), ways[other](step)])
        winners.push(winner)
        for (let round = 0; round < 10; round += 1) await step.sleep('again', '1m')
        return winner
      })
      const test = await testEngine({ time, workflows: [workflow, quick], hotRuns: 0, patience: 1 })
      const handle = await test.engine.startWorkflow(workflow, null)
      await test.advance(eventAt)
      await test.engine.sendEvent(handle.id, 'e')
      const output = await test.until(handle.result())
      expect([one, other]).toContain(output)
      expect(winners.length).toBeGreaterThanOrEqual(10)
      expect(new Set(winners)).toEqual(new Set([output]))
      await test.close()
    }
  })
})

describe('the asynchronous context', () => {
  const context = new AsyncLocalStorage<string>()

  it('B149 of a call reaches the body: in sequence, in parallel, and in a retry', async () => {
    const workflow = defineWorkflow({ name: 'w' }, async ({ input, step }) => {
      const look = (name: string) =>
        context.run(`${input} ${name}`, () =>
          step.do(
            name,
            ({ attempt }) => {
              if (attempt === 1) throw new Error('once more')
              return context.getStore()
            },
            { retries: 1, retryDelay: '1s' },
          ),
        )
      const first = await look('first')
      return [first, ...(await Promise.all([look('second'), look('third')])), context.getStore()]
    })
    const test = await testEngine({ workflows: [workflow] })
    const start = (input: string) =>
      context.run('the starter', () => test.engine.startWorkflow(workflow, input))
    const handles = [await start('a'), await start('b')]
    const results = await Promise.all(handles.map((handle) => test.until(handle.result())))
    expect(results).toEqual(['a', 'b'].map((id) => [`${id} first`, `${id} second`, `${id} third`, undefined]))
  })

  it('B150 and failures belong to the run that made them', async () => {
    const seen = unhandled()
    const workflow = defineWorkflow({ name: 'w' }, async ({ input, step }) => {
      if (input === 50) void step.do('leak', failing(new Error('leaked')))
      const own = await context.run(`run ${input}`, () => step.do('own', () => context.getStore()))
      await step.sleep('pause', '1s')
      return own
    })
    const test = await testEngine({ workflows: [workflow] })
    const numbers = Array.from({ length: 100 }, (_, index) => index)
    const handles = await Promise.all(numbers.map((n) => test.engine.startWorkflow(workflow, n)))
    const results = await Promise.all(handles.map((handle) => test.until(handle.result())))
    expect(results).toEqual(numbers.map((n) => `run ${n}`))
    const histories = await Promise.all(handles.map((handle) => handle.history()))
    const failed = histories.map(({ entries }) => entries.filter(({ status }) => status === 'failed').length)
    expect(failed).toEqual(numbers.map((n) => (n === 50 ? 1 : 0)))
    expect(seen).toEqual([])
  })
})
