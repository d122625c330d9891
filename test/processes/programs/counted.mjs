/** A worker on runs that are counted: each says which process executed it. */
import { defineWorkflow } from 'perdure'
import { closeOn, engineOf, tell } from './child.mjs'

const counted = defineWorkflow(
  { name: 'counted' },
  async ({ step }) => await step.do('who', () => process.pid),
)
const sleeper = defineWorkflow({ name: 'sleeper' }, async ({ input, step }) => {
  await step.sleepUntil('nap', input)
  return await step.do('who', () => process.pid)
})

const engine = engineOf({ workflows: [counted, sleeper] })
closeOn(['SIGTERM'], engine)
await engine.work()
tell('ready')
