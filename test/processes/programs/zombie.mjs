/** A worker whose first body of a run waits to be aborted, tries to save, and returns all the same. */
import { defineWorkflow } from 'perdure'
import { aborted, closeOn, engineOf, flag, logged, settings, tell } from './child.mjs'

const patient = defineWorkflow({ name: 'patient' }, async ({ step, run }) => {
  return await step.do('long', (context) => {
    return logged(context, async () => {
      tell('in body', { run: run.id, attempt: run.attempt })
      if (!settings.waits) return settings.name
      const { code } = await aborted(context.signal)
      tell('aborted', { code })
      await run.save({ late: true }).then(
        () => tell('saved'),
        (error) => tell('save refused', { code: error.code }),
      )
      return 'too late'
    })
  })
})

/** Its body ends by itself while the process is frozen or just after, without looking at its signal. */
const hasty = defineWorkflow({ name: 'hasty' }, async ({ step }) => {
  const first = await step.do('long', (context) => {
    return logged(context, async () => {
      tell('in body')
      if (settings.waits) await flag('thawed')
      return settings.name
    })
  })
  return [first, await step.do('next', (context) => logged(context, () => settings.name))]
})

const quick = defineWorkflow({ name: 'quick' }, async ({ step }) => {
  return await step.do('only', (context) => logged(context, () => settings.name))
})

const engine = engineOf({ workflows: [patient, hasty, quick] })
closeOn(['SIGTERM'], engine)
await engine.work()
tell('ready')
