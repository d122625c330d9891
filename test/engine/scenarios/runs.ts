import { PermanentError } from '../../../src/core/errors.ts'
import { HOUR, START, scenario } from './scenario.ts'

/** The run as a whole: values from the engine, checkpoints, retries, starts, pauses, revivals. */
export const runs = [
  scenario(
    'now, random and uuid',
    async ({ step }) => {
      const before = [step.now(), step.random(), step.uuid()]
      await step.sleep('pause', '1 day')
      const after = [step.now(), step.random(), step.uuid()]
      const [then = 0, now = 0] = [before[0], after[0]].map(Number)
      return [now - then >= 24 * HOUR, new Set([...before, ...after]).size]
    },
    { output: [true, 6], bodies: 0 },
  ),

  scenario(
    'a patch',
    async ({ step }) => {
      const fresh = step.patched('new way')
      await step.sleep('pause', '1h')
      return [fresh, step.patched('new way'), step.patched('newer way')]
    },
    { output: [true, true, true], bodies: 0 },
  ),

  scenario(
    'checkpoints between steps',
    async ({ step, run }) => {
      await run.save({ stage: 'one', 'a.$b': new Date(1) })
      const first = await step.do('first', () => 1)
      await run.save({ stage: 'two', nothing: undefined })
      await step.sleep('pause', '1h')
      await run.save({ stage: 'three' })
      return [first, run.checkpoints]
    },
    { output: [1, { stage: 'three', 'a.$b': new Date(1), nothing: undefined }], bodies: 1 },
  ),

  scenario(
    'checkpoints inside a step',
    async ({ step, run }) => {
      await step.do('pages', async () => {
        const from = Number(run.checkpoints['page'] ?? 0)
        for (let page = from + 1; page <= 3; page += 1) await run.save({ page })
      })
      return run.checkpoints
    },
    { output: { page: 3 }, bodies: 1 },
  ),

  scenario(
    'checkpoints inside a step, and steps after it',
    async ({ step, run }) => {
      await step.do('pages', async () => {
        for (let page = 1; page <= 3; page += 1) await run.save({ page })
      })
      await step.sleep('pause', '1h')
      return [run.checkpoints, await step.do('after', () => 'after')]
    },
    { output: [{ page: 3 }, 'after'], bodies: 2 },
  ),

  scenario(
    'a job without steps that resumes from its checkpoints',
    async ({ run }) => {
      for (let page = Number(run.checkpoints['page'] ?? 0); page < 3; page += 1)
        await run.save({ page: page + 1 })
      return run.checkpoints['page']
    },
    { output: 3, bodies: 0 },
  ),

  scenario(
    'saves side by side with steps',
    async ({ step, run }) => {
      const [a] = await Promise.all([step.do('a', () => 'a'), run.save({ x: 1 }), run.save({ y: 2 })])
      return [a, run.checkpoints]
    },
    { output: ['a', { x: 1, y: 2 }], bodies: 1 },
  ),

  scenario(
    'a run that is tried again, with what its steps returned',
    async ({ step, run }) => {
      const first = await step.do('first', () => 'once')
      if (run.checkpoints['failures'] !== 2) {
        await run.save({ failures: Number(run.checkpoints['failures'] ?? 0) + 1 })
        throw new Error('not yet')
      }
      return [first, await step.do('last', () => 'last')]
    },
    {
      workflow: { retry: { schedule: ['5m', '10m', '20m', '40m'] } },
      output: ['once', 'last'],
      bodies: 2,
    },
  ),

  scenario(
    'a run whose retries run out',
    async ({ step }) => {
      await step.do('good', () => null)
      await step.do('bad', () => {
        throw new Error('always')
      })
    },
    {
      workflow: { retry: { schedule: ['5m', '10m'] } },
      status: 'failed',
      error: { message: 'always' },
      bodies: 4,
      restarts: true,
      resultMayChange: 'the death of a worker is an attempt of the run',
    },
  ),

  scenario(
    'a run that fails for good at once',
    () => {
      throw new PermanentError('refused')
    },
    { workflow: { retry: { retries: 5 } }, status: 'failed', error: { code: 'PERMANENT' }, bodies: 0 },
  ),

  scenario('a start that is put off', async ({ step }) => step.now() >= START + 24 * HOUR, {
    output: true,
    bodies: 0,
    start: { delay: '1 day' },
  }),

  scenario(
    'a pause, and an event that comes during it',
    async ({ step }) => {
      await step.do('before', () => null)
      const event = await step.waitForEvent('go')
      return await step.do('after', () => event)
    },
    {
      output: 'went',
      bodies: 2,
      drive: async ({ engine, advance, runUntilIdle }, runId) => {
        await advance('1m')
        await engine.pause(runId)
        await runUntilIdle()
        await engine.sendEvent(runId, 'go', 'went')
        await runUntilIdle()
        await engine.resume(runId)
      },
    },
  ),

  scenario(
    'a failed run that is revived',
    async ({ step, run }) => {
      const first = await step.do('first', () => 'once')
      if (run.checkpoints['failed'] === undefined) {
        await run.save({ failed: true })
        throw new Error('the first time')
      }
      return first
    },
    {
      output: 'once',
      bodies: 1,
      drive: async ({ engine, runUntilIdle }, runId) => {
        await runUntilIdle()
        const run = await engine.getRun(runId)
        if (run?.status === 'failed') await engine.revive(runId)
      },
    },
  ),
]
