/** A worker that may start some runs itself. The functions of its workflows leave a line when they are called. */
import { defineWorkflow } from 'perdure'
import { closeOn, engineOf, logged, note, settings, tell } from './child.mjs'

const tiny = defineWorkflow({ name: 'tiny' }, async ({ step }) =>
  step.do('only', (context) => logged(context)),
)

const parked = defineWorkflow({ name: 'parked' }, async ({ step, run }) => {
  note('called', { run: run.id })
  return await step.waitForEvent('go')
})

const napping = defineWorkflow({ name: 'napping' }, async ({ step }) => {
  await step.do('before', (context) => logged(context))
  await step.sleep('nap', settings.napMs)
  await step.do('after', (context) => logged(context))
  return 'rested'
})

const engine = engineOf({ workflows: [tiny, parked, napping] })
closeOn(['SIGTERM'], engine)
await engine.work()
tell('ready')
const starts = Array.from({ length: settings.starts ?? 0 }, () => engine.startWorkflow('tiny'))
tell('started', { ids: (await Promise.all(starts)).map(({ id }) => id) })
