import { defineWorkflow } from '../../engine/define.ts'
import type { RegisteredFunction, StepContext, Workflow, WorkflowContext } from '../../engine/workflow.ts'
import { type Bodies, Seen } from './bodies.ts'
import type { Dice } from './dice.ts'
import { interpreter, type Program, randomProgram } from './programs.ts'

/** What the processes of a simulation can execute, made anew for each of them. */
export interface Catalogue {
  readonly workflows: readonly Workflow[]
  readonly functions: Readonly<Record<string, RegisteredFunction>>
}

/** A start that a client may make. */
export interface Start {
  readonly workflow: string
  readonly input: unknown
}

/** The workflows of a simulation: some plain uses of every operation, and random programs. */
export function catalogue(bodies: Bodies): Catalogue {
  const program = interpreter(bodies)
  const fixed = Object.entries(stories(bodies)).map(([name, story]) => {
    return defineWorkflow({ name }, async (context: WorkflowContext<string>) => {
      const seen = new Seen()
      seen.take(context.input)
      await story(context, seen)
      return seen.digest
    })
  })
  const workflows = [
    ...fixed,
    defineWorkflow({ name: 'program' }, program),
    defineWorkflow({ name: 'retried', retry: { retries: 2, retryDelay: 900 } }, program),
    defineWorkflow({ name: 'timed', timeout: '12s' }, program),
    defineWorkflow({ name: 'short-lived', retention: '5s' }, program),
  ]
  return {
    // A workflow of one input fits into a list of workflows of all inputs: `keyOf` is a method.
    workflows: workflows as readonly Workflow[],
    functions: {
      service: (data: string, context) => bodies.work(data, context, { fails: 0.3 }),
      'service.once': (data: string, context) => bodies.work(data, context, { fails: 0.1, takes: 3000 }),
    },
  }
}

/** A start of some workflow. */
export function randomStart(dice: Dice): Start {
  if (dice.chance(0.5)) {
    const workflow = dice.pick('program', 'retried', 'timed', 'short-lived')
    return { workflow, input: randomProgram(dice, 2) satisfies Program }
  }
  return { workflow: dice.pick(...STORIES), input: `input-${dice.int(1, 3)}` }
}

type Story = (context: WorkflowContext<string>, seen: Seen) => Promise<void>

const STORIES = [
  'sequence',
  'parallel-and-race',
  'retries',
  'sleeps',
  'events',
  'children',
  'services',
  'saves',
  'map',
  'cleanup',
  'once',
  'self-cancel',
] as const

function stories(bodies: Bodies): { readonly [name in (typeof STORIES)[number]]: Story } {
  /** A step whose arguments are all that the workflow has seen. */
  const act = async (
    { step }: WorkflowContext<string>,
    seen: Seen,
    name: string,
    {
      fails = 0,
      takes = 500,
      ...options
    }: { fails?: number; takes?: number; retries?: number; retryDelay?: number } = {},
  ): Promise<void> => {
    const args = seen.digest
    seen.take(await step.do(name, (body) => bodies.work(args, body, { fails, takes }), options))
  }

  return {
    async sequence(context, seen) {
      for (const name of ['charge', 'label', 'ship', 'label']) await act(context, seen, name)
    },

    async 'parallel-and-race'(context, seen) {
      await Promise.all(['a', 'b', 'a'].map((name) => act(context, seen, name)))
      const timeout = context.step.sleep('timeout', 250)
      await Promise.race([act(context, seen, 'slow'), timeout.then(() => seen.take('timeout'))])
      await act(context, seen, 'after')
    },

    async retries(context, seen) {
      await act(context, seen, 'flaky', { fails: 0.5, retries: 3, retryDelay: 400 })
      await act(context, seen, 'flaky', { fails: 0.5, retries: 1, retryDelay: 0 })
    },

    async sleeps(context, seen) {
      const { step } = context
      await step.sleep('nap', 300)
      await act(context, seen, 'between')
      await step.sleepUntil('until', step.now() + 2000)
      await Promise.all([step.sleep('long', '15s'), act(context, seen, 'meanwhile')])
      await act(context, seen, 'end')
    },

    async events(context, seen) {
      const { step } = context
      for (let round = 0; round < 3; round += 1) {
        seen.take(await step.waitForEvent('x', { timeout: round * 4000 + 500 }))
        await act(context, seen, 'handle')
      }
      // Without a timeout: whoever runs the simulation sends it in the end.
      seen.take(await step.waitForEvent('finish'))
    },

    async children(context, seen) {
      const { step } = context
      const child = async (workflow: string): Promise<void> => {
        seen.take(await step.do('child', workflow, seen.digest).catch(String))
      }
      await Promise.all([child('sequence'), child('retries'), act(context, seen, 'own')])
      await child('cleanup')
    },

    async services(context, seen) {
      const { step } = context
      const call = (name: string, options: object): Promise<unknown> => {
        return step.do('call', name, seen.digest, options).catch(String)
      }
      seen.take(await Promise.all([call('service', { retries: 2, retryDelay: 300 }), call('service', {})]))
      seen.take(await call('service.once', { atMostOnce: true }))
    },

    async saves({ step, run }, seen) {
      for (let page = 1; page <= 3; page += 1) {
        const args = seen.digest
        const save = async (body: StepContext): Promise<string> => {
          const result = await bodies.work(args, body)
          await run.save({ inside: page })
          return result
        }
        seen.take(await step.do('page', save, { retries: 1, retryDelay: 100 }))
        await run.save({ page, twice: page })
        await Promise.all([run.save({ page: -page }), step.sleep('pause', 20)])
      }
    },

    async map({ step }, seen) {
      const items = [1, 2, 3, 4, 5, 6]
      const work = (item: number, body: StepContext): Promise<string> => {
        return bodies.work(String(item), body, { fails: 0.2 })
      }
      seen.take(await step.map('item', items, work, { concurrency: 2, retries: 4, retryDelay: 50 }))
    },

    async cleanup(context, seen) {
      try {
        await act(context, seen, 'acquire')
        await context.step.sleep('hold', '6s')
        await act(context, seen, 'use', { fails: 0.2, takes: 3000 })
      } finally {
        await act(context, seen, 'release')
      }
    },

    async once({ step }, seen) {
      for (const name of ['fire', 'fire', 'forget']) {
        const args = seen.digest
        const body = (context: StepContext): Promise<string> => {
          return bodies.work(args, context, { takes: 2000 })
        }
        seen.take(await step.do(name, body, { atMostOnce: true, timeout: 1500 }).catch(String))
      }
    },

    async 'self-cancel'(context, seen) {
      await act(context, seen, 'first')
      try {
        await Promise.all([act(context, seen, 'second'), context.run.cancel('enough')])
      } finally {
        await act(context, seen, 'release')
      }
    },
  }
}
