import { RunStateError } from '../../../src/core/errors.ts'
import { HOUR, START, scenario } from './scenario.ts'

/** Sends an event at a time, before whatever else is due at it. */
const sendAt =
  (at: number, name: string, payload: unknown): NonNullable<Parameters<typeof scenario>[2]['drive']> =>
  async ({ engine, time }, runId) => {
    const send = (): Promise<void> => engine.sendEvent(runId, name, payload).catch(unlessEnded)
    time.environment().setTimer(at - time.now, () => void send())
  }

/** What comes at the same time may have ended the run. */
function unlessEnded(error: unknown): void {
  if (!(error instanceof RunStateError)) throw error
}

/** Timers and events. */
export const waiting = [
  scenario(
    'a sleep of a month',
    async ({ step }) => {
      await step.sleep('long', '30 days')
      return await step.do('after', () => 'awake')
    },
    { output: 'awake', bodies: 1 },
  ),

  scenario(
    'sleeps until times that will come and that have passed',
    async ({ step }) => {
      await step.sleepUntil('future', new Date(START + HOUR))
      await step.sleepUntil('past', new Date(0))
      await step.sleepUntil('number', START + 2 * HOUR)
      return 'awake'
    },
    { output: 'awake', bodies: 0 },
  ),

  scenario(
    'sleeps of no time',
    async ({ step }) => {
      for (let round = 0; round < 3; round += 1) await step.sleep('blink', 0)
      return 'awake'
    },
    { output: 'awake', bodies: 0 },
  ),

  scenario(
    'many sleeps of the same time',
    async ({ step }) => {
      const woken: number[] = []
      const nap = (n: number) => step.sleep('nap', '1h').then(() => woken.push(n))
      await Promise.all([1, 2, 3, 4].map(nap))
      return woken
    },
    { output: [1, 2, 3, 4], bodies: 0 },
  ),

  scenario(
    'a race of a sleep and a step, which the step wins',
    async ({ step }) => {
      const sleep = step.sleep('a day', '1 day').then(() => 'slept')
      return await Promise.race([sleep, step.do('work', () => 'worked')])
    },
    { output: 'worked', bodies: 1 },
  ),

  scenario(
    'a race of a sleep and a retried step, which the sleep wins',
    async ({ step }) => {
      const body = (): never => {
        throw new Error('never')
      }
      const work = step.do('work', body, { retries: 3, retryDelay: '1 day' })
      const winner = await Promise.race([step.sleep('an hour', '1h').then(() => 'slept'), work])
      return [winner, await step.do('after', () => 'after')]
    },
    { output: ['slept', 'after'], bodies: 2 },
  ),

  scenario(
    'a race of an event and a sleep, which the event wins',
    async ({ step }) => {
      const event = step.waitForEvent('go')
      return await Promise.race([event, step.sleep('a day', '1 day').then(() => 'slept')])
    },
    {
      output: 'went',
      outputIfInexact: ['went', 'slept'],
      bodies: 0,
      drive: sendAt(START + HOUR, 'go', 'went'),
    },
  ),

  scenario(
    'a race of an event and a sleep that come together',
    async ({ step }) => {
      const event = step.waitForEvent('go')
      return await Promise.race([event, step.sleepUntil('then', START + HOUR).then(() => 'slept')])
    },
    {
      output: 'went',
      outputIfInexact: ['went', 'slept'],
      bodies: 0,
      drive: sendAt(START + HOUR, 'go', 'went'),
    },
  ),

  scenario(
    'a race of a sleep and an event that come together',
    async ({ step }) => {
      const sleep = step.sleepUntil('then', START + HOUR).then(() => 'slept')
      return await Promise.race([sleep, step.waitForEvent('go')])
    },
    {
      output: 'slept',
      outputIfInexact: ['went', 'slept'],
      bodies: 0,
      drive: sendAt(START + HOUR, 'go', 'went'),
    },
  ),

  scenario(
    'an event and a sleep that come together, both awaited',
    async ({ step }) => {
      const seen: unknown[] = []
      const sleep = step.sleepUntil('then', START + HOUR).then(() => seen.push('slept'))
      const event = step.waitForEvent('go').then((payload) => seen.push(payload))
      await Promise.all([event, sleep])
      return [seen, await step.do('after', () => seen.length)]
    },
    {
      output: [['slept', 'went'], 2],
      outputIfInexact: [
        [['slept', 'went'], 2],
        [['went', 'slept'], 2],
      ],
      bodies: 1,
      drive: sendAt(START + HOUR, 'go', 'went'),
    },
  ),

  scenario(
    'events that came before they were waited for',
    async ({ step }) => {
      await step.sleep('busy', '1 day')
      const got: unknown[] = []
      for (let round = 0; round < 3; round += 1) got.push(await step.waitForEvent('go'))
      return got
    },
    {
      output: [1, 2, 3],
      bodies: 0,
      drive: async ({ engine, advance }, runId) => {
        for (const payload of [1, 2, 3]) {
          await advance('1m')
          await engine.sendEvent(runId, 'go', payload)
        }
      },
    },
  ),

  scenario(
    'an event with the same id twice',
    async ({ step }) => {
      const first = await step.waitForEvent('go')
      return [first, await step.waitForEvent('go', { timeout: '1 day' })]
    },
    {
      output: ['once', null],
      bodies: 0,
      drive: async ({ engine, advance }, runId) => {
        await engine.sendEvent(runId, 'go', 'once', { id: 'event' })
        await engine.sendEvent(runId, 'go', 'twice', { id: 'event' })
        await advance('1h')
        await engine.sendEvent(runId, 'go', 'thrice', { id: 'event' })
      },
    },
  ),

  scenario(
    'an event that never comes',
    async ({ step }) => await step.waitForEvent('go', { timeout: '7 days' }),
    { output: null, bodies: 0 },
  ),

  scenario(
    'an event of another name, and one with no payload',
    async ({ step }) => [await step.waitForEvent('go'), await step.waitForEvent('other')],
    {
      output: [undefined, 'other'],
      bodies: 0,
      drive: async ({ engine, runUntilIdle }, runId) => {
        await engine.sendEvent(runId, 'other', 'other')
        await runUntilIdle()
        await engine.sendEvent(runId, 'go')
      },
    },
  ),

  scenario(
    'two waits for the same event',
    async ({ step }) => await Promise.all([step.waitForEvent('go'), step.waitForEvent('go')]),
    {
      output: ['first', 'second'],
      bodies: 0,
      drive: async ({ engine, runUntilIdle }, runId) => {
        await engine.sendEvent(runId, 'go', 'first')
        await runUntilIdle()
        await engine.sendEvent(runId, 'go', 'second')
      },
    },
  ),

  scenario(
    'an event that comes while a step fails and is retried',
    async ({ step }) => {
      const flaky = step.do(
        'flaky',
        ({ attempt }) => {
          if (attempt < 3) throw new Error('again')
          return attempt
        },
        { retries: 2, retryDelay: '1h' },
      )
      return await Promise.all([step.waitForEvent('go'), flaky])
    },
    {
      output: ['went', 3],
      bodies: 3,
      orderMayChange: 'the event is sent when all is quiet, whenever that is',
      drive: async ({ engine, advance }, runId) => {
        await advance('90m')
        await engine.sendEvent(runId, 'go', 'went')
      },
    },
  ),

  scenario(
    'a loop that collects events until it is quiet',
    async ({ step }) => {
      const got: unknown[] = []
      for (;;) {
        const event = await step.waitForEvent('item', { timeout: '1h' })
        if (event === null) return got
        got.push(event)
        await step.do('store', () => event)
      }
    },
    {
      output: ['a', 'b'],
      bodies: 2,
      drive: async ({ engine, advance }, runId) => {
        for (const payload of ['a', 'b']) {
          await advance('30m')
          await engine.sendEvent(runId, 'item', payload)
        }
      },
    },
  ),
]
