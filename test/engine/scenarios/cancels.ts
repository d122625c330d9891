import { defineWorkflow } from '../../../src/engine/define.ts'
import type { StepContext } from '../../../src/engine/workflow.ts'
import { scenario } from './scenario.ts'

const code = (error: unknown): unknown => (error as { code?: unknown } | null)?.code

const untilAborted = ({ signal }: StepContext): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

const lastWish = defineWorkflow({ name: 'last wish' }, async ({ step }) => {
  try {
    await step.waitForEvent('never')
  } finally {
    await step.sleep('linger', '1h')
    await step.do('wish', () => null)
  }
})

/** What is thrown into a run from outside: cancels, and the end of its time. */
export const cancels = [
  scenario(
    'a run that takes too long, in a body that stops when it is told',
    async ({ step }) => {
      const caught = await step.do('hang', untilAborted).catch(code)
      await step.do('note', () => caught)
    },
    { workflow: { timeout: '1h' }, status: 'failed', error: { code: 'RUN_TIMEOUT' }, bodies: 2 },
  ),

  scenario(
    'a run that takes too long, in a body that does not listen',
    async ({ step }) => {
      await step.do('hang', () => new Promise(() => {})).catch(() => {})
      await step.do('note', () => null)
    },
    { workflow: { timeout: '1h' }, status: 'failed', error: { code: 'RUN_TIMEOUT' }, bodies: 2 },
  ),

  scenario(
    'a cancel from inside, while a body runs',
    async ({ step, run }) => {
      const work = step.do('work', untilAborted).catch(code)
      await step.sleep('a while', '1h')
      const own = await run.cancel('enough').catch(code)
      await step.do('note', async () => [own, await work])
    },
    {
      status: 'cancelled',
      error: { reason: 'enough' },
      bodies: 2,
    },
  ),

  scenario(
    'a cancel while all kinds of operations wait',
    async ({ step }) => {
      const ended = await Promise.allSettled([
        step.sleep('sleep', '1 day'),
        step.waitForEvent('event'),
        step.do('child', lastWish, null),
        step.do('body', untilAborted),
        step.do('retried', () => Promise.reject(new Error('x')), { retries: 3, retryDelay: '1 day' }),
      ])
      await step.do('note', () =>
        ended.map((one) => (one.status === 'rejected' ? code(one.reason) : 'ended')),
      )
    },
    {
      status: 'cancelled',
      error: { code: 'RUN_CANCELLED', reason: 'all' },
      bodies: 4,
      children: [lastWish],
      drive: async ({ engine, advance }, runId) => {
        await advance('1h')
        await engine.cancel(runId, 'all')
      },
    },
  ),

  scenario(
    'two cancels, the first counts, and nothing is interrupted twice',
    async ({ step }) => {
      try {
        await step.sleep('long', '30 days')
      } finally {
        await step.sleep('winding down', '1 day')
        await step.do('note', () => null)
      }
    },
    {
      status: 'cancelled',
      error: { reason: 'first' },
      bodies: 1,
      drive: async ({ engine, advance }, runId) => {
        await advance('1h')
        await engine.cancel(runId, 'first')
        await advance('1h')
        await engine.cancel(runId, 'second')
      },
    },
  ),

  scenario(
    'a cancel while the run waits for its next attempt',
    async ({ step }) => {
      await step.do('note', () => null)
      throw new Error('again')
    },
    {
      workflow: { retry: { schedule: ['1 day', '1 day', '1 day'] } },
      status: 'cancelled',
      error: { reason: 'no more' },
      bodies: 1,
      drive: async ({ engine, advance }, runId) => {
        await advance('1h')
        await engine.cancel(runId, 'no more')
      },
    },
  ),

  scenario(
    'a cancel while the run is paused',
    async ({ step }) => {
      try {
        await step.sleep('long', '30 days')
      } finally {
        await step.do('note', () => null)
      }
    },
    {
      status: 'cancelled',
      error: { code: 'RUN_CANCELLED' },
      bodies: 1,
      drive: async ({ engine, advance }, runId) => {
        await advance('1h')
        await engine.pause(runId)
        await advance('1h')
        await engine.cancel(runId)
      },
    },
  ),

  scenario(
    'a run that takes too long',
    async ({ step }) => {
      try {
        await step.sleep('too long', '2 days')
      } finally {
        await step.do('clean up', () => 'cleaned')
      }
    },
    { workflow: { timeout: '1 day' }, status: 'failed', error: { code: 'RUN_TIMEOUT' }, bodies: 1 },
  ),

  scenario(
    'a cancel from inside',
    async ({ step, run }) => {
      await step.do('work', () => 1)
      try {
        await run.cancel('not approved')
      } finally {
        await step.do('clean up', () => null)
        await step.sleep('calm down', '1h')
        await step.do('clean up more', () => null)
      }
    },
    { status: 'cancelled', error: { code: 'RUN_CANCELLED', reason: 'not approved' }, bodies: 3 },
  ),

  scenario(
    'a cancel from inside, beside others that wait',
    async ({ step, run }) => {
      const ends: string[] = []
      const note = (name: string) => (error: { code: string }) => void ends.push(`${name} ${error.code}`)
      const sleep = step.sleep('long', '1 day').catch(note('sleep'))
      const event = step.waitForEvent('never').catch(note('event'))
      await run.cancel().catch(note('cancel'))
      await Promise.all([sleep, event])
      await step.do('report', () => ends)
    },
    { status: 'cancelled', error: { code: 'RUN_CANCELLED' }, bodies: 1 },
  ),

  scenario(
    'a cancel from outside, during a sleep',
    async ({ step }) => {
      try {
        await step.sleep('long', '30 days')
      } catch (error) {
        await step.do('note', () => (error as { code: string }).code)
        throw error
      }
    },
    {
      status: 'cancelled',
      error: { code: 'RUN_CANCELLED', reason: 'changed my mind' },
      bodies: 1,
      drive: async ({ engine, advance }, runId) => {
        await advance('1 day')
        await engine.cancel(runId, 'changed my mind')
      },
    },
  ),

  scenario(
    'a cancel that the function swallows',
    async ({ step }) => {
      await step.sleep('long', '30 days').catch(() => {})
      return await step.do('go on', () => 'as if nothing had happened')
    },
    {
      status: 'cancelled',
      error: { code: 'RUN_CANCELLED' },
      bodies: 1,
      drive: async ({ engine, advance }, runId) => {
        await advance('1 day')
        await engine.cancel(runId)
      },
    },
  ),

  scenario(
    'a cancel while a step body runs',
    async ({ step }) => {
      const body = ({ signal }: { signal: AbortSignal }): Promise<never> =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      try {
        await step.do('hang', body)
      } finally {
        await step.do('clean up', () => null)
      }
    },
    {
      status: 'cancelled',
      error: { code: 'RUN_CANCELLED' },
      bodies: 2,
      drive: async ({ engine, advance }, runId) => {
        await advance('1m')
        await engine.cancel(runId)
      },
    },
  ),

  scenario(
    'a cancel between two attempts of a step',
    async ({ step }) => {
      const body = (): never => {
        throw new Error('again')
      }
      await step.do('bad', body, { retries: 5, retryDelay: '1h' })
    },
    {
      status: 'cancelled',
      error: { code: 'RUN_CANCELLED' },
      bodies: 1,
      drive: async ({ engine, advance }, runId) => {
        await advance('10m')
        await engine.cancel(runId)
      },
    },
  ),

  scenario('a cancel before the start', () => 'never', {
    status: 'cancelled',
    error: { code: 'RUN_CANCELLED' },
    bodies: 0,
    start: { delay: '1 day' },
    drive: async ({ engine, advance }, runId) => {
      await advance('1h')
      await engine.cancel(runId)
    },
  }),

  scenario(
    'a cancelled run that is revived',
    async ({ step, run }) => {
      await step.do('first', () => null)
      try {
        await step.sleep('long', '1 day')
      } finally {
        await step.do('clean up', () => null)
      }
      return [run.attempt, await step.do('last', () => 'last')]
    },
    {
      output: [1, 'last'],
      bodies: 3,
      resultMayChange: 'the death of a worker is an attempt of the run',
      drive: async ({ engine, advance, runUntilIdle }, runId) => {
        await advance('1h')
        await engine.cancel(runId)
        await runUntilIdle()
        await engine.revive(runId)
      },
    },
  ),
]
