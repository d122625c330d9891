/** A worker that has a workflow which ends the process each time, one that is interrupted, and harmless ones. */
import { defineWorkflow } from 'perdure'
import { aborted, closeOn, engineOf, flag, logged, settings, tell } from './child.mjs'

const poison = defineWorkflow({ name: 'poison' }, async ({ step }) => {
  await step.do('before', (context) => logged(context))
  await step.do('kill', (context) => logged(context, () => process.exit(137)))
})

/** Poison as a registered function, called by a step. */
const caller = defineWorkflow({ name: 'caller' }, async ({ step }) => {
  try {
    return await step.do('call', 'venom')
  } catch (error) {
    return error.code
  }
})

const harmless = defineWorkflow({ name: 'harmless' }, async ({ step }) => {
  for (const name of ['a', 'b', 'c']) await step.do(name, (context) => logged(context))
  return 'fine'
})

/** Runs until it is told to stop, or the test lets it end. */
const long = defineWorkflow({ name: 'long' }, async ({ step }) => {
  return await step.do('body', (context) => {
    return logged(context, async () => {
      tell('in body')
      await Promise.race([aborted(context.signal), flag('done')])
      return 'done'
    })
  })
})

const functions = { venom: (_, context) => logged(context, () => process.exit(137)) }
const engine = engineOf({ workflows: [poison, caller, harmless, long], functions })
closeOn(['SIGTERM'], engine, { timeout: settings.grace ?? 10_000 })
await engine.work({ concurrency: 5 })
tell('ready')
