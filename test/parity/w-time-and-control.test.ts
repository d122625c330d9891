import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { called, DAY, HOUR, MINUTE, mortalEngine, realEngine, signal, testEngine } from './kit.ts'
import { forEachStore } from './stores.ts'

const sleeper = defineWorkflow({ name: 'sleeper' }, async ({ input, step }) => {
  await step.do('before', () => null)
  await step.sleep('nap', input as string)
  return await step.do('after', () => 'awake')
})

forEachStore((database) => {
  it.each(['1 hour', '30 days', '10000 days'])(
    'W8 a sleep of %s lasts exactly that, across restarts',
    async (nap) => {
      const [time, open] = [new VirtualTime(), database()]
      const begun = time.now
      const first = await mortalEngine({ time, store: open(), workflows: [sleeper] })
      const { id } = await first.engine.startWorkflow(sleeper, nap)
      await first.advance('59 minutes')
      await first.close()
      const second = await testEngine({ time, store: open(), workflows: [sleeper] })
      const due = (await second.engine.getRun(id))?.dueAt ?? 0
      await second.advance(due - time.now - 1)
      expect([await second.engine.getHandle(id).status(), called(second)]).toEqual(['waiting', []])
      await second.advance(1)
      expect(await second.engine.getHandle(id).status()).toBe('completed')
      const length = { '1 hour': HOUR, '30 days': 30 * DAY, '10000 days': 10_000 * DAY }[nap]
      expect(time.now - begun).toBe(length)
    },
  )
})

describe('sleeping', () => {
  it('W8 by the clock of the system, it does not end a moment early', async () => {
    const engine = await realEngine({ store: memory(), workflows: [sleeper] })
    const before = Date.now()
    const handles = await Promise.all([30, 31, 32].map((ms) => engine.startWorkflow(sleeper, ms)))
    await Promise.all(handles.map((handle) => handle.result()))
    for (const handle of handles) {
      const { entries } = await handle.history()
      const nap = entries.find(({ name }) => name === 'nap')
      expect(nap?.endedAt).toBeGreaterThanOrEqual(nap?.dueAt ?? before + 30)
    }
    expect(Date.now() - before).toBeGreaterThanOrEqual(30)
  })

  it('W8 until a time that has passed is no sleep', async () => {
    const until = defineWorkflow({ name: 'until' }, async ({ step }) => {
      await step.sleepUntil('past', new Date(5))
      await step.sleepUntil('later', Date.UTC(2030, 5, 1))
      return step.now()
    })
    const test = await testEngine({ workflows: [until] })
    expect((await test.run(until, null)).output).toBe(Date.UTC(2030, 5, 1))
  })
})

describe('control', () => {
  it('W9 a run cancels itself, with a reason, and cleans up', async () => {
    const gives = defineWorkflow({ name: 'gives up' }, async ({ run, step }) => {
      try {
        await run.cancel('not approved')
      } finally {
        await step.do('clean up', () => null)
      }
      return 'never'
    })
    const test = await testEngine({ workflows: [gives] })
    const { status, error, handle } = await test.run(gives, null)
    expect([status, called(test)]).toEqual(['cancelled', ['clean up 1']])
    expect(error).toMatchObject({ code: 'RUN_CANCELLED', reason: 'not approved' })
    await expect(test.until(handle.result())).rejects.toMatchObject({ reason: 'not approved' })
  })

  it.each(['pending', 'waiting', 'running', 'paused'] as const)(
    'W9 a run that is %s can be cancelled',
    async (when) => {
      const [begun, hang] = [signal(), signal()]
      const workflow = defineWorkflow({ name: 'w' }, async ({ step, input }) => {
        if (input === 'running') {
          await step.do('body', async ({ signal: aborted }) => {
            begun.send()
            aborted.addEventListener('abort', () => hang.send())
            await hang.promise
            throw aborted.reason
          })
        }
        await step.sleep('nap', '1h')
      })
      const test = await testEngine({ workflows: [workflow] })
      const delay = when === 'pending' ? { delay: '1h' } : {}
      const handle = await test.engine.startWorkflow(workflow, when, delay)
      if (when === 'running') await begun.promise
      else await test.advance('1m')
      if (when === 'paused') await handle.pause()
      expect(await handle.status()).toBe(when)
      await handle.cancel('enough')
      await test.advance(0)
      expect(await handle.status()).toBe('cancelled')
      await expect(test.until(handle.result())).rejects.toMatchObject({
        code: 'RUN_CANCELLED',
        reason: 'enough',
      })
      await expect(handle.cancel()).resolves.toBeUndefined()
      expect(test.time.now - Date.UTC(2030, 0, 1)).toBeLessThanOrEqual(MINUTE)
    },
  )

  it('W9 a paused run does nothing until it is resumed, and then goes on where it was', async () => {
    const test = await testEngine({ workflows: [sleeper] })
    const handle = await test.engine.startWorkflow(sleeper, '1h')
    await test.advance('1m')
    await handle.pause()
    await test.advance('10 days')
    expect([await handle.status(), called(test)]).toEqual(['paused', ['before 1']])
    await handle.resume()
    expect(await test.until(handle.result())).toBe('awake')
    expect(called(test)).toEqual(['before 1', 'after 1'])
  })

  it('W9 a pause lets a body that runs end, and starts no other', async () => {
    const [begun, end] = [signal(), signal()]
    const two = defineWorkflow({ name: 'two' }, async ({ step }) => {
      await step.do('first', async () => {
        begun.send()
        await end.promise
      })
      return await step.do('second', () => 'done')
    })
    const test = await testEngine({ workflows: [two] })
    const handle = await test.engine.startWorkflow(two, null)
    await begun.promise
    await handle.pause()
    end.send()
    await test.advance('1h')
    expect([await handle.status(), called(test)]).toEqual(['paused', ['first 1']])
    await handle.resume()
    expect(await test.until(handle.result())).toBe('done')
    expect(called(test)).toEqual(['first 1', 'second 1'])
  })

  it('W9 cancel, pause and resume of a run that has ended say so', async () => {
    const test = await testEngine({ workflows: [sleeper] })
    const { handle } = await test.run(sleeper, 0)
    for (const request of [handle.cancel(), handle.pause(), handle.resume()]) {
      await expect(request).rejects.toMatchObject({
        code: 'RUN_STATE',
        message: expect.stringContaining('completed'),
      })
    }
  })
})
