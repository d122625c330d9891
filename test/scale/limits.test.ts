import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { WorkflowContext } from '../../src/engine/workflow.ts'
import { engineFor } from '../input/fixture.ts'
import { stores } from '../parity/runner-kit.ts'

const LIMIT = 10

/** The ways in which a run can write entries without end. */
const endless: Readonly<Record<string, (context: WorkflowContext, i: number) => unknown>> = {
  'step.do': ({ step }, i) => step.do('count', () => i),
  'step.do of a child': ({ step }, i) => step.do('child', child, i),
  'step.sleep': ({ step }) => step.sleep('nap', 1),
  'step.now': ({ step }) => step.now(),
  'step.uuid': ({ step }) => step.uuid(),
  'run.save under new names': ({ run }, i) => run.save({ [`page ${i}`]: i }),
}

const child = defineWorkflow({ name: 'child' }, ({ input }) => input)

describe.each(Object.entries(endless))(`a run that calls %s without end`, (_, call) => {
  it.each([1000, 0])(`is stopped at the limit of its journal, with %i hot runs`, async (hotRuns) => {
    let calls = 0
    const loops = defineWorkflow({ name: 'loops' }, async (context) => {
      for (let i = 0; i < 3 * LIMIT; i += 1) {
        await call(context, i)
        calls = Math.max(calls, i + 1)
      }
    })
    const test = await engineFor({ workflows: [loops, child], maxJournalEntries: LIMIT, hotRuns })
    const { status, error, handle } = await test.run(loops, null)
    expect(status).toBe('failed')
    expect(error).toMatchObject({
      code: 'JOURNAL_LIMIT',
      message: expect.stringContaining('maxJournalEntries'),
    })
    expect(calls).toBe(LIMIT)
    expect((await handle.history()).entries).toHaveLength(LIMIT)
  })
})

describe.each(stores)('200 steps at once with 100 kB each, on %s (B096)', (_, open) => {
  it('complete, and come back whole from the journal', async () => {
    const wide = defineWorkflow({ name: 'wide' }, async ({ step }) => {
      const letters = await Promise.all(
        Array.from({ length: 200 }, (_item, i) => step.do('fetch', () => String(i % 10).repeat(100_000))),
      )
      await step.waitForEvent('go')
      return letters.map((text, i) => text === String(i % 10).repeat(100_000)).filter(Boolean).length
    })
    const test = await engineFor({ store: await open(), workflows: [wide], hotRuns: 0 })
    const { handle } = await test.run(wide, null)
    await test.engine.sendEvent(handle.id, 'go')
    expect(await test.until(handle.result())).toBe(200)
  })

  it('fail with an error that names the limit if that is smaller: nothing hangs', async () => {
    const wide = defineWorkflow({ name: 'wide' }, ({ step }) =>
      Promise.all(Array.from({ length: 200 }, () => step.do('fetch', () => 'x'.repeat(100_000)))),
    )
    const test = await engineFor({ store: await open(), workflows: [wide], maxValueBytes: 50_000 })
    const { status, error } = await test.run(wide, null)
    expect(status).toBe('failed')
    expect(error).toMatchObject({ code: 'VALUE_TOO_LARGE', message: expect.stringContaining('50000') })
  })
})
