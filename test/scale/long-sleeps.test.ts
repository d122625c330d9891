import { describe, expect, it, onTestFinished } from 'vitest'
import { MAX_TIME } from '../../src/core/limits.ts'
import { defineWorkflow } from '../../src/engine/define.ts'
import { systemEnvironment } from '../../src/engine/environment.ts'
import { silentLog } from '../../src/testing/virtual-time.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'
import { engineFor } from '../input/fixture.ts'
import { stores } from '../parity/runner-kit.ts'

const DAY = 86_400_000
const YEAR_9999 = Date.UTC(9999, 0, 1)

/** 24.8 days are all that a timer of the runtime can take (B042). */
describe.each(stores)('a sleep, on %s,', (_, open) => {
  it.each([
    ['30 days', 30 * DAY],
    ['3650 days', 3650 * DAY],
    [2 ** 31, 2 ** 31],
  ])('of %s ends when it is over, not before', async (duration, ms) => {
    const { test, calls, sleeping } = await sleeper()
    const { id } = await test.engine.startWorkflow(sleeping, duration)
    await test.advance(ms - 1)
    expect(await test.engine.getRun(id)).toMatchObject({ status: 'waiting', dueAt: test.time.now + 1 })
    const before = calls()
    await test.advance(1)
    expect(await test.engine.getRun(id)).toMatchObject({ status: 'completed' })
    expect(before).toBeLessThan(50)
  })

  it('of as many ms as a number can count lasts to the end of time, and disturbs nobody', async () => {
    const { test, sleeping } = await sleeper()
    const { id } = await test.engine.startWorkflow(sleeping, Number.MAX_SAFE_INTEGER)
    await test.advance('3650 days')
    expect(await test.engine.getRun(id)).toMatchObject({ status: 'waiting', dueAt: MAX_TIME })
    expect((await test.run(sleeping, 5)).status).toBe('completed')
  })

  it('until the year 9999 ends then', async () => {
    const until = defineWorkflow({ name: 'until' }, ({ step }) => step.sleepUntil('far', new Date(YEAR_9999)))
    const test = await engineFor({ store: await open(), workflows: [until] })
    const { record } = await test.run(until, null)
    expect(record).toMatchObject({ status: 'completed', endedAt: YEAR_9999 })
  })

  async function sleeper() {
    let calls = 0
    const store = wrapStore(await open(), (_method, call) => {
      calls += 1
      return call()
    })
    const sleeping = defineWorkflow({ name: 'sleeping' }, ({ step, input }: Input) =>
      step.sleep('long', input),
    )
    const test = await engineFor({ store, workflows: [sleeping], hotRuns: 0 })
    return { test, calls: () => calls, sleeping }
  }
})

interface Input {
  readonly input: number | string
  readonly step: { sleep(name: string, duration: number | string): Promise<void> }
}

describe('a timer of the system', () => {
  it.each([2 ** 31, 30 * DAY, 3650 * DAY, Number.MAX_SAFE_INTEGER])(
    'of %i ms does not fire at once',
    async (ms) => {
      const warnings: string[] = []
      const note = (warning: Error): void => {
        warnings.push(warning.name)
      }
      process.on('warning', note)
      onTestFinished(() => void process.off('warning', note))
      let fired = false
      const environment = systemEnvironment(silentLog)
      const cancel = environment.setTimer(ms, () => {
        fired = true
      })
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      cancel()
      expect([fired, warnings]).toEqual([false, []])
    },
  )
})
