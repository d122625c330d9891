import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { StepContext } from '../../src/engine/workflow.ts'
import { crashEverywhere } from '../../src/testing/crash-kit.ts'
import { createTestEngine } from '../../src/testing/test-engine.ts'

// Faults that the scenarios have found, each in the smallest form that shows it.

describe('a step body', () => {
  // `InlineStep` enters the body scope and then calls the body through `AsyncResource.bind`, which restores the
  // asynchronous context of the `step.do` call: the scope is lost before the body begins.
  it('cannot use steps (X20)', async () => {
    const nested = defineWorkflow({ name: 'nested' }, async ({ step }) => {
      return await step.do('outer', async () => await step.do('inner', () => 1))
    })
    const test = await createTestEngine({ workflows: [nested] })
    expect((await test.run(nested, null)).error).toMatchObject({ code: 'NESTED_STEP' })
    await test.close()
  })

  // The same cause: `run.save` takes itself to be between steps and takes a place in the order of outcomes. A
  // replay does not call the body, never finds the save, and pauses the run as not deterministic.
  it('saves checkpoints without a place in the order of outcomes', async () => {
    const saves = defineWorkflow({ name: 'saves' }, async ({ step, run }) => {
      await step.do('pages', () => run.save({ page: 1 }))
      await step.sleep('pause', '1h')
      return run.checkpoints
    })
    const test = await createTestEngine({ workflows: [saves], hotRuns: 0 })
    expect(await test.run(saves, null)).toMatchObject({ status: 'completed', output: { page: 1 } })
    await test.close()
  })
})

describe('a cancel', () => {
  // The interrupt was recorded while the body of `work` was running; then the process died. The replay throws the
  // interrupt where it was thrown, which is not at `work`, and then starts its body anew: after the cancel, with
  // a signal that nobody will ever abort. A body that waits for its signal hangs for ever, and the run with it.
  it('is not forgotten by a step that was running when it came, if the process dies then', async () => {
    const workflow = defineWorkflow({ name: 'cancels itself' }, async ({ step, run }) => {
      const untilAborted = ({ signal }: StepContext): Promise<never> =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      const work = step.do('work', untilAborted).catch(() => {})
      await step.sleep('a while', '1h')
      await run.cancel('enough').catch(() => {})
      await work
    })
    const report = await crashEverywhere(workflow, null, { patience: 1 })
    report.assertSound()
  })
})

describe('a function that awaits what never comes', () => {
  const stuck = defineWorkflow({ name: 'stuck', timeout: '1h' }, async ({ step }) => {
    await step.do('first', () => null)
    await new Promise(() => {})
  })

  // `throwInterrupt` finds nothing to throw at, and `rest` waits for ever because there is no operation: the run
  // holds its slot until the process ends, and then again in the next.
  it('does not outlive the timeout of its run', async () => {
    const test = await createTestEngine({ workflows: [stuck], patience: 1 })
    expect(await test.run(stuck, null)).toMatchObject({ status: 'failed', error: { code: 'RUN_TIMEOUT' } })
  })

  it('does not outlive a cancel', async () => {
    const test = await createTestEngine({ workflows: [stuck], patience: 1 })
    const handle = await test.engine.startWorkflow(stuck, null)
    await test.advance('1m')
    await handle.cancel('enough')
    await test.runUntilIdle()
    expect(await handle.status()).toBe('cancelled')
  })
})
