/** A worker whose first attempt of a run blocks its event loop for three leases. */
import { defineWorkflow } from 'perdure'
import { aborted, closeOn, engineOf, logged, settings, tell } from './child.mjs'

const heavy = defineWorkflow({ name: 'heavy' }, async ({ step }) => {
  const first = await step.do('crunch', (context) => {
    return logged(context, async () => {
      tell('in body')
      if (!settings.blocks) return settings.name
      const nobody = new Int32Array(new SharedArrayBuffer(4))
      Atomics.wait(nobody, 0, 0, 3 * settings.lease)
      const { code } = await aborted(context.signal)
      tell('aborted', { code })
      return settings.name
    })
  })
  return [first, await step.do('next', (context) => logged(context, () => settings.name))]
})

const quick = defineWorkflow({ name: 'quick' }, async ({ step }) => {
  return await step.do('only', (context) => logged(context, () => settings.name))
})

const engine = engineOf({ workflows: [heavy, quick] })
closeOn(['SIGTERM'], engine)
await engine.work()
tell('ready')
