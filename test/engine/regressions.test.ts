import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { StepContext } from '../../src/engine/workflow.ts'
import { crashEverywhere } from '../../src/testing/crash-kit.ts'
import { createTestEngine } from '../../src/testing/test-engine.ts'

// Faults that the scenarios have found, each in the smallest form that shows it.

describe('a step body', () => {
  // The body used to be called in the asynchronous context of the `step.do` call, outside the scope of bodies.
  it('cannot use steps (X20)', async () => {
    const nested = defineWorkflow({ name: 'nested' }, async ({ step }) => {
      return await step.do('outer', async () => await step.do('inner', () => 1))
    })
    const test = await createTestEngine({ workflows: [nested] })
    expect((await test.run(nested, null)).error).toMatchObject({ code: 'NESTED_STEP' })
    await test.close()
  })

  // The same cause: `run.save` took itself to be between steps and took a place in the order of outcomes. A replay did not
  // call the body, never found the save, and paused the run as not deterministic.
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
  // The interrupt was recorded while the body of `work` was running; then the process died. The replay threw the
  // interrupt where it was thrown, which is not at `work`, and then started its body anew: after the cancel, with
  // a signal that nobody would ever abort. A body that waits for its signal hung for ever, and the run with it.
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

  // There was nothing to throw at, and no operation whose end could be waited for: the run held its slot until the
  // process ended, and then again in the next.
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

describe('an observer that throws', () => {
  it('does not stop the engine', async () => {
    const test = await createTestEngine({
      workflows: [defineWorkflow({ name: 'watched' }, ({ step }) => step.do('work', () => 1))],
      observer: () => {
        throw new Error('the exporter is down')
      },
    })
    expect(await test.run('watched')).toMatchObject({ status: 'completed', output: 1 })
    expect(await test.run('watched')).toMatchObject({ status: 'completed', output: 1 })
    await test.close()
  })
})

describe('an idempotency key', () => {
  it('is not the same for another step of another run, whatever they are called', async () => {
    const keys: string[] = []
    const note = ({ idempotencyKey }: StepContext): void => void keys.push(idempotencyKey)
    const names = defineWorkflow({ name: 'names' }, async ({ step }) => {
      await step.do('c', note)
      await step.do('b:c', note)
    })
    const test = await createTestEngine({ workflows: [names] })
    await test.run(names, null, { id: 'a' })
    await test.run(names, null, { id: 'a:b' })
    expect(new Set(keys).size).toBe(4)
    await test.close()
  })
})
