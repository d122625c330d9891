// Works on orders. At the step that the settings name it says so and does not go on: the test kills it there.
import { existsSync } from 'node:fs'
import { effect, rpc, say, settings, setUp, workflow } from './app.mjs'

async function at(step, fields) {
  effect(step, fields)
  say('in step', { step })
  if (settings.dieAt === step) await new Promise(() => setInterval(() => {}, 1000))
  if (settings.holdAt === step) {
    // Until the test lets it go on.
    while (!existsSync(settings.gate)) await new Promise((resolve) => setTimeout(resolve, 20))
    say('let go', { step })
  }
}

rpc('reserve', async ({ items }) => {
  await at('reserve')
  return { reserved: items }
})

rpc(
  'charge',
  async ({ amount }, { workflowStep }) => {
    await at('charge', { attempt: workflowStep?.attemptCount })
    if (workflowStep.attemptCount === 1) throw new Error('the card machine is busy')
    return { charged: amount, by: process.pid }
  },
  { workflowQueued: true },
)

workflow('packing', async (workflow, { items }) => {
  const wrapped = await workflow.do('wrap', async () => {
    await at('wrap')
    return items
  })
  return await workflow.do('label', async () => {
    await at('label')
    return `${wrapped} wrapped`
  })
})

workflow('order', async (workflow, { items, amount }) => {
  const id = await workflow.do('make an id', async () => {
    await at('make an id')
    return `order of ${items}`
  })
  const { reserved } = await workflow.do('reserve', 'reserve', { items })
  const packed = await workflow.do('pack', 'packing', { items })
  const { charged, by } = await workflow.do('charge', 'charge', { amount }, { retries: 2, retryDelay: 50 })
  await workflow.sleep('cool down', settings.sleep ?? 300)
  const sent = await workflow.do('send', async () => {
    await at('send')
    return 'sent'
  })
  return { id, reserved, packed, charged, by, sent }
})

const services = await setUp()
await services.start()
process.on('SIGTERM', () => void services.close().then(() => process.exit(0)))
say('ready')
if (settings.start) {
  const { runId } = await services.workflowService.startWorkflow(
    'order',
    settings.start,
    { type: 'test' },
    {},
  )
  say('started', { runId })
}
if (settings.wait) {
  const run = await untilEnded(settings.wait)
  say('ended', { status: run.status, output: run.output, error: run.error })
}

async function untilEnded(runId) {
  for (;;) {
    const run = await services.workflowService.getRun(runId)
    if (run.status !== 'running') return run
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
