import { defineWorkflow } from '../../../src/engine/define.ts'
import type { StepContext } from '../../../src/engine/workflow.ts'
import { HOUR, START, scenario } from './scenario.ts'

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const code = (error: unknown): unknown => (error as { code?: unknown } | null)?.code

const choosy = defineWorkflow({ name: 'choosy' }, async ({ input, step }) => {
  return await step.do('choose', () => {
    if (input === 1) throw new Error('not the first')
    return `attempt ${input}`
  })
})

const stubborn = defineWorkflow(
  { name: 'stubborn', retry: { schedule: ['1m', '1m', '1m', '1m'] } },
  async ({ step, run }) => {
    await step.do('work', () => null)
    if (run.checkpoints['tries'] !== 2) {
      await run.save({ tries: Number(run.checkpoints['tries'] ?? 0) + 1 })
      throw new Error('again')
    }
    return 'at last'
  },
)

const lastWish = defineWorkflow({ name: 'last wish' }, async ({ step }) => {
  try {
    await step.waitForEvent('never')
  } finally {
    await step.sleep('linger', '1h')
    await step.do('wish', () => null)
  }
})

/** Things that meet at the wrong moment. */
export const awkward = [
  scenario(
    'a pause while a body waits for its next attempt',
    async ({ step }) => {
      const body = ({ attempt }: StepContext): number => {
        if (attempt < 3) throw new Error('again')
        return attempt
      }
      return await step.do('flaky', body, { retries: 5, retryDelay: '10m' })
    },
    {
      output: 3,
      bodies: 3,
      drive: async ({ engine, advance }, runId) => {
        await advance('5m')
        await engine.pause(runId)
        await advance('1 day')
        await engine.resume(runId)
      },
    },
  ),

  scenario(
    'a timeout of the run while it waits for its next attempt',
    async ({ step }) => {
      await step.sleep('nap', '1m')
      throw new Error('again')
    },
    {
      workflow: { retry: { schedule: ['1 day', '1 day'] }, timeout: '1h' },
      status: 'failed',
      bodies: 0,
    },
  ),

  scenario(
    'an event that came too late for one wait is for the next',
    async ({ step }) => {
      const first = await step.waitForEvent('go', { timeout: '1h' })
      await step.sleep('busy', '1 day')
      return [first, await step.waitForEvent('go')]
    },
    {
      output: [null, 'late'],
      bodies: 0,
      drive: async ({ engine, advance }, runId) => {
        await advance('2h')
        await engine.sendEvent(runId, 'go', 'late')
      },
    },
  ),

  scenario(
    'an event while the run waits for its next attempt',
    async ({ step, run }) => {
      if (run.checkpoints['failed'] === undefined) {
        await run.save({ failed: true })
        throw new Error('once')
      }
      return await step.waitForEvent('go')
    },
    {
      workflow: { retry: { schedule: ['1 day', '1 day', '1 day'] } },
      output: 'kept',
      bodies: 0,
      drive: async ({ engine, advance }, runId) => {
        await advance('1h')
        await engine.sendEvent(runId, 'go', 'kept')
      },
    },
  ),

  scenario(
    'a run that starts over in the middle of everything',
    async ({ step, run }) => {
      const early = step.now()
      const sleep = step.sleep('a day', '1 day')
      const event = step.waitForEvent('go')
      const child = step.do('child', stubborn, null)
      await step.sleep('a bit', '1m')
      if (run.checkpoints['failed'] === undefined) {
        await run.save({ failed: true })
        throw new Error('once')
      }
      await sleep
      return [await event, await child, step.now() - early < 25 * HOUR]
    },
    {
      workflow: { retry: { schedule: ['2h', '2h', '2h'] } },
      output: ['kept', 'at last', true],
      bodies: 1,
      children: [stubborn],
      orderMayChange: 'the child ends while its parent waits',
      drive: async ({ engine, advance }, runId) => {
        await advance('1h')
        await engine.sendEvent(runId, 'go', 'kept')
      },
    },
  ),

  scenario(
    'a failed child that is started anew by the next attempt',
    async ({ step, run }) => {
      if (run.checkpoints['tried'] === undefined) {
        const failure = await step.do('child', choosy, 1).catch((error: Error) => error)
        await run.save({ tried: String(failure) })
        throw new Error('once')
      }
      return [run.checkpoints['tried'], await step.do('child', choosy, 2)]
    },
    {
      workflow: { retry: { schedule: ['1h', '1h', '1h'] } },
      output: ['Error: not the first', 'attempt 2'],
      bodies: 2,
      children: [choosy],
    },
  ),

  scenario(
    'a function that awaits what is no step',
    async ({ step }) => {
      await turn()
      const first = await step.do('first', () => 1)
      await turn()
      await step.sleep('pause', '1h')
      await turn()
      return first + (await step.do('second', async () => turn().then(() => 1)))
    },
    { output: 2, bodies: 2 },
  ),

  scenario(
    'a branch that awaits what is no step while the run is parked',
    async ({ step }) => {
      const branch = async (): Promise<string> => {
        await turn()
        return await step.do('branch', () => 'branch')
      }
      return await Promise.all([step.sleep('pause', '1h'), branch()])
    },
    { output: [undefined, 'branch'], bodies: 1, orderMayChange: 'it is not deterministic' },
  ),

  scenario(
    'a late result of an attempt that took too long',
    async ({ step }) => {
      const body = async ({ attempt, signal }: StepContext): Promise<string> => {
        if (attempt === 1)
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        return `attempt ${attempt}`
      }
      return await step.do('slow', body, { timeout: '1m', retries: 1, retryDelay: '1m' })
    },
    { output: 'attempt 2', bodies: 2 },
  ),

  scenario(
    'a child that is tried again by itself',
    async ({ step }) => await step.do('child', stubborn, null),
    { output: 'at last', bodies: 1, children: [stubborn] },
  ),

  scenario(
    'a child that takes too long',
    async ({ step }) => await step.do('child', lastWish, null, { timeout: '1h' }).catch(code),
    { output: 'RUN_TIMEOUT', bodies: 1, children: [lastWish] },
  ),

  scenario(
    'steps that are begun in a then and in a catch',
    async ({ step }) => {
      const good = step.do('good', () => 1).then((n) => step.do('then', () => n + 1))
      const bad = step
        .do('bad', () => Promise.reject(new Error('x')))
        .catch(() => step.do('catch', () => 'c'))
      return await Promise.all([good, bad, step.sleep('pause', 1)])
    },
    { output: [2, 'c', undefined], bodies: 4, orderMayChange: 'the pause may be over before the crash is' },
  ),

  scenario(
    'checkpoints saved by steps side by side',
    async ({ step, run }) => {
      const save = (name: string) => step.do(name, () => run.save({ [name]: true }))
      await Promise.all([save('a'), save('b'), step.sleep('pause', '1m')])
      await run.save({ c: true })
      await step.sleep('another', '1m')
      return run.checkpoints
    },
    { output: { a: true, b: true, c: true }, bodies: 2 },
  ),

  scenario(
    'a race whose loser goes on being waited for',
    async ({ step }) => {
      const event = step.waitForEvent('go')
      const winners: unknown[] = []
      for (const round of [1, 2, 3]) {
        winners.push(
          await Promise.race([event, step.sleepUntil('tick', START + round * HOUR).then(() => round)]),
        )
      }
      return winners
    },
    {
      output: [1, 'went', 'went'],
      bodies: 0,
      drive: async ({ engine, advance, time }, runId) => {
        await advance(START + HOUR * 1.5 - time.now)
        await engine.sendEvent(runId, 'go', 'went')
      },
    },
  ),
]
