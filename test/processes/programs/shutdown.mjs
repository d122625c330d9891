/** A worker that closes in order when it is asked to. What its bodies do depends on the settings. */
import { defineWorkflow } from 'perdure'
import { closeOn, engineOf, logged, note, pause, settings, tell } from './child.mjs'

let signals = 0
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => (signals += 1))

/** Resolves when so many signals have come to this process. */
async function signalled(count) {
  while (signals < count) await pause(5)
}

/** Goes on for a while after the signals. */
const draining = defineWorkflow({ name: 'draining' }, async ({ step }) => {
  const first = await step.do('long', (context) => {
    return logged(context, async () => {
      tell('in body')
      await signalled(settings.signals)
      await pause(settings.bodyMs)
      return settings.name
    })
  })
  return [first, await step.do('next', (context) => logged(context, () => settings.name))]
})

/** Has side effects until it is aborted, and then does not end. */
const stubborn = defineWorkflow({ name: 'stubborn' }, async ({ step }) => {
  return await step.do('long', (context) => {
    return logged(context, async () => {
      tell('in body')
      if (!settings.stays) return settings.name
      const call = { run: context.runId, step: context.stepId, attempt: context.attempt }
      const { signal } = context
      signal.addEventListener('abort', () => note('aborted', { ...call, code: signal.reason.code }))
      while (!signal.aborted) {
        note('tick', call)
        await pause(10)
      }
      await new Promise(() => setInterval(() => {}, 1_000))
    })
  })
})

/** Starts runs, sends an event and saves after the signal. */
const enqueuing = defineWorkflow({ name: 'enqueuing' }, async ({ input, step, run }) => {
  return await step.do('enqueue', (context) => {
    return logged(context, async () => {
      tell('in body')
      await signalled(1)
      const starts = Array.from({ length: 10 }, (_, i) =>
        engine.startWorkflow('tiny', i, { key: `tiny-${i}` }),
      )
      const event = engine.sendEvent(input, 'go', 'on')
      const settled = await Promise.allSettled([...starts, event, run.save({ enqueued: true })])
      return settled.filter(({ status }) => status === 'rejected').map(({ reason }) => reason.code)
    })
  })
})

const tiny = defineWorkflow({ name: 'tiny' }, async ({ step }) => {
  return await step.do('only', (context) => logged(context, () => settings.name))
})

const listening = defineWorkflow({ name: 'listening' }, async ({ step }) => step.waitForEvent('go'))

const engine = engineOf({ workflows: [draining, stubborn, enqueuing, tiny, listening] })
closeOn(['SIGTERM', 'SIGINT'], engine, { timeout: settings.grace })
await engine.work({ concurrency: settings.concurrency ?? 10 })
tell('ready')
