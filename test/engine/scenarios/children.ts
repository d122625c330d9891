import { defineWorkflow } from '../../../src/engine/define.ts'
import type { StepContext } from '../../../src/engine/workflow.ts'
import { scenario } from './scenario.ts'

const reason = (error: unknown): string => (error instanceof Error ? error.message : `not an error: ${error}`)

const double = defineWorkflow({ name: 'double' }, async ({ input, step }) => {
  return await step.do('compute', () => Number(input) * 2)
})

const failing = defineWorkflow({ name: 'failing' }, async ({ step }) => {
  await step.do('begin', () => null)
  throw new TypeError('the child fails')
})

const sleeper = defineWorkflow({ name: 'sleeper' }, async ({ step }) => {
  try {
    await step.sleep('long', '7 days')
    return 'awake'
  } finally {
    await step.do('tidy', () => null)
  }
})

const middle = defineWorkflow({ name: 'middle' }, async ({ input, step }) => {
  const inner = await step.do('inner', double, Number(input) + 1)
  await step.sleep('pause', '1h')
  return inner + 1
})

const functions = {
  greet: (name: string) => `hello ${name}`,
  flaky: (attempts: number, { attempt }: StepContext) => {
    if (attempt < attempts) throw new Error(`attempt ${attempt}`)
    return `attempt ${attempt}`
  },
  identity: (_: unknown, { runId, stepId, idempotencyKey }: StepContext) => [
    runId === idempotencyKey,
    stepId,
  ],
}

/** Runs that start runs, and functions that any worker calls. */
export const children = [
  scenario('a child', async ({ step }) => await step.do('child', double, 21), {
    output: 42,
    bodies: 1,
    children: [double],
  }),

  scenario('a child by its name', async ({ step }) => await step.do('child', 'double', 4), {
    output: 8,
    bodies: 1,
    children: [double],
  }),

  scenario(
    'a child that fails',
    async ({ step }) => {
      const message = await step.do('child', failing, null).catch(reason)
      return [message, await step.do('after', () => 'after')]
    },
    { output: ['the child fails', 'after'], bodies: 2, children: [failing] },
  ),

  scenario('a child that fails, uncaught', async ({ step }) => await step.do('child', failing, null), {
    status: 'failed',
    error: { name: 'TypeError', message: 'the child fails' },
    bodies: 1,
    children: [failing],
  }),

  scenario(
    'a child that is cancelled',
    async ({ step }) => {
      return await step.do('child', sleeper, null).catch((error: { code: string }) => error.code)
    },
    {
      output: 'CHILD_CANCELLED',
      bodies: 1,
      children: [sleeper],
      drive: async ({ engine, advance }) => {
        await advance('1h')
        const [child] = (await engine.listRuns({ workflow: 'sleeper' })).runs
        await engine.cancel(child?.id ?? 'none', 'not needed')
      },
    },
  ),

  scenario('children of children', async ({ step }) => await step.do('child', middle, 20), {
    output: 43,
    bodies: 1,
    children: [middle, double],
  }),

  scenario(
    'many children at once',
    async ({ step }) => await Promise.all([1, 2, 3, 4, 5].map((n) => step.do('child', double, n))),
    { output: [2, 4, 6, 8, 10], bodies: 5, children: [double], orderMayChange: 'children end by themselves' },
  ),

  scenario(
    'a child that is slower than the patience of its parent',
    async ({ step }) => {
      const child = step.do('child', sleeper, null)
      return await Promise.race([child, step.sleep('patience', '1 day').then(() => 'too slow')])
    },
    { output: 'too slow', bodies: 1, children: [sleeper] },
  ),

  scenario(
    'a cancel that reaches the child',
    async ({ step }) => {
      try {
        return await step.do('child', sleeper, null)
      } finally {
        await step.do('clean up', () => null)
      }
    },
    {
      status: 'cancelled',
      error: { code: 'RUN_CANCELLED', reason: 'enough' },
      bodies: 2,
      children: [sleeper],
      drive: async ({ engine, advance }, runId) => {
        await advance('1h')
        await engine.cancel(runId, 'enough')
      },
    },
  ),

  scenario('a registered function', async ({ step }) => await step.do('call', 'greet', 'Ada'), {
    output: 'hello Ada',
    bodies: 1,
    functions,
  }),

  scenario(
    'what a registered function is told',
    async ({ step, run }) => {
      const [, stepId] = await step.do<[boolean, string]>('call', 'identity')
      return [stepId, run.id.length > 0]
    },
    { output: ['call', true], bodies: 1, functions },
  ),

  scenario(
    'a registered function with retries',
    async ({ step }) => await step.do('call', 'flaky', 3, { retries: 2, retryDelay: '1m' }),
    { output: 'attempt 3', bodies: 3, functions },
  ),

  scenario(
    'a registered function that fails for good',
    async ({ step }) => await step.do('call', 'flaky', 9, { retries: 1, retryDelay: '1m' }).catch(reason),
    { output: 'attempt 2', bodies: 2, functions },
  ),

  scenario(
    'functions and steps mixed',
    async ({ step }) => {
      const calls = ['a', 'b', 'c'].map((name) => step.do<string>('call', 'greet', name))
      const own = step.do('own', () => 'own')
      return [...(await Promise.all(calls)), await own]
    },
    {
      output: ['hello a', 'hello b', 'hello c', 'own'],
      bodies: 4,
      functions,
      orderMayChange: 'functions end by themselves',
    },
  ),
]
