/** A worker with a step whose outcome will not fit on the disk, which then tries to start a small run. */
import { defineWorkflow } from 'perdure'
import { closeOn, engineOf, flag, logged, tell } from './child.mjs'

const large = defineWorkflow({ name: 'large' }, async ({ step }) => {
  return await step.do('large', (context) => {
    return logged(context, async () => {
      tell('in body')
      await flag('full')
      return 'x'.repeat(900_000)
    })
  })
})
const tiny = defineWorkflow({ name: 'tiny' }, async ({ step }) =>
  step.do('only', (context) => logged(context)),
)

const engine = engineOf({ workflows: [large, tiny] })
closeOn(['SIGTERM'], engine, { timeout: 200 })
await engine.work()
tell('ready')
await flag('ask')
tell('asking')
await engine.startWorkflow('tiny').then(
  ({ id }) => tell('answer', { id }),
  (error) => tell('answer', { code: error.code }),
)
