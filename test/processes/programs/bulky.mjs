/** A worker whose steps return much. It also tries to start a run itself when the test asks for it. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { defineWorkflow } from 'perdure'
import { closeOn, engineOf, flag, logged, settings, tell } from './child.mjs'

const bulky = defineWorkflow({ name: 'bulky' }, async ({ step }) => {
  const nonces = []
  for (let i = 1; i <= 5; i++) {
    const { nonce } = await step.do(`s${i}`, (context) => {
      return logged(context, async () => {
        // In the middle of each run the disk becomes full.
        if (i === 3) await flag('full')
        return { nonce: `${context.runId} ${context.stepId}`, ballast: 'x'.repeat(10_000) }
      })
    })
    nonces.push(nonce)
  }
  return nonces
})

const engine = engineOf({ workflows: [bulky] })
closeOn(['SIGTERM'], engine)
await engine.work()
tell('ready')

/** The test asks by a file, and reads the answer from a line. */
const wish = join(settings.folder, 'start')
setInterval(async () => {
  if (!existsSync(wish)) return
  rmSync(wish)
  try {
    const { id } = await engine.startWorkflow('bulky', 'y'.repeat(50_000))
    tell('accepted', { id })
  } catch (error) {
    tell('refused', { code: error.code, failure: error.failure })
  }
}, 10)
