// A Pikku application, registered by hand as Pikku's generated code would: one workflow with inline steps, RPC steps (one
// of them through a queue), a sleep, and a step that fails at first.
import { appendFileSync } from 'node:fs'
import { addFunction, pikkuState, setSingletonServices } from '@pikku/core/ecosystem'
import { addWorkflow } from '@pikku/core/workflow'
import { perdureServices } from 'perdure/pikku'
import { openStore } from './stores.mjs'

export const settings = JSON.parse(process.argv[2] ?? '{}')

/** Tells the test something. */
export function say(at, fields = {}) {
  process.stdout.write(`${JSON.stringify({ at, ...fields })}\n`)
}

/** A side effect: one line in a file that all processes share. */
export function effect(step, fields = {}) {
  appendFileSync(settings.log, `${JSON.stringify({ at: 'did', pid: process.pid, step, ...fields })}\n`)
}

const quiet = () => {}
export const logger = { error: quiet, warn: quiet, info: quiet, debug: quiet, scope: () => logger }

/** Registers a function that steps can call. */
export function rpc(name, func, options = {}) {
  pikkuState(null, 'rpc', 'meta')[name] = name
  pikkuState(null, 'function', 'meta')[name] = {
    pikkuFuncId: name,
    sessionless: true,
    functionType: 'helper',
    inputSchemaName: null,
    outputSchemaName: null,
    ...options,
  }
  addFunction(name, { func: async (_services, data, wire) => await func(data, wire) })
}

export function workflow(name, func) {
  const meta = { name, pikkuFuncId: name, source: 'complex', graphHash: `hash-${name}` }
  pikkuState(null, 'workflows', 'meta')[name] = meta
  pikkuState(null, 'function', 'meta')[name] = {
    pikkuFuncId: name,
    sessionless: true,
    functionType: 'workflow',
    inputSchemaName: null,
    outputSchemaName: null,
  }
  addWorkflow(name, { func: async (_services, data, { workflow }) => await func(workflow, data) })
}

/** Sets Pikku up on the store of the settings. */
export async function setUp(options = {}) {
  const services = perdureServices({
    store: await openStore(settings),
    lease: settings.lease ?? '2s',
    pollInterval: '100ms',
    ...options,
  })
  const { workflowService, queueService, schedulerService } = services
  setSingletonServices({
    config: {},
    logger,
    workflowService,
    queueService,
    schedulerService,
    variables: {},
    secrets: { getSecret: async () => undefined },
  })
  return services
}
