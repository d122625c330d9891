/**
 * Starts runs with keys, a few at a time, and waits for each. Begins with the keys that an earlier client left open. Asked
 * to end, it starts no more and ends when all have ended.
 */
import { engineOf, settings, tell } from './child.mjs'
import { functions, workflows } from './mixed.mjs'

const engine = engineOf({ workflows, functions })
const open = [...settings.open]
let next = settings.next
let ending = false
process.on('SIGTERM', () => {
  ending = true
})

async function lane() {
  for (;;) {
    const number = open.shift() ?? (ending ? null : next++)
    if (number === null) return
    const key = `key-${number}`
    const workflow = settings.names[number % settings.names.length]
    tell('starting', { number })
    const handle = await started(workflow, key)
    tell('accepted', { number, id: handle.id, created: handle.created })
    tell('result', { number, id: handle.id, output: await handle.result() })
  }
}

/** As the documentation asks: after an error of the store the call is repeated with the same key. */
async function started(workflow, key) {
  for (;;) {
    try {
      return await engine.startWorkflow(workflow, null, { key })
    } catch (error) {
      if (error.failure !== 'unavailable') throw error
      tell('repeated', { key, code: error.code })
    }
  }
}

if (settings.works) await engine.work({ concurrency: 4 })
tell('ready')
await Promise.all(Array.from({ length: settings.lanes }, lane))
await engine.close()
tell('done')
