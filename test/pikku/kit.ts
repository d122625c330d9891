/** Pikku applications within the test's own process. Pikku keeps its registry and its services in one global state. */
import { addFunction, pikkuState, setSingletonServices } from '@pikku/core/ecosystem'
import { type PikkuRPC, rpcService } from '@pikku/core/rpc'
import { addWorkflow, type PikkuWorkflowWire } from '@pikku/core/workflow'
import { onTestFinished } from 'vitest'
import {
  type PerdureServices,
  type PerdureServicesOptions,
  PerdureWorkflowService,
  perdureServices,
} from '../../src/pikku/index.ts'
import type { Store } from '../../src/ports/store.ts'
import { silentLog } from '../../src/testing/virtual-time.ts'

const quiet = (): void => {}
const logger = { error: quiet, warn: quiet, info: quiet, debug: quiet, trace: quiet, setLevel: quiet }

interface StepWire {
  readonly workflowStep?: { readonly stepId: string; readonly attemptCount: number }
}

const meta = (name: string, functionType: 'helper' | 'workflow') => ({
  pikkuFuncId: name,
  sessionless: true,
  functionType,
  inputSchemaName: null,
  outputSchemaName: null,
})

/** Registers a function that steps can call; with `workflowQueued`, they do so through a queue. */
export function rpc<Data>(
  name: string,
  func: (data: Data, wire: StepWire) => unknown,
  options: { readonly workflowQueued?: boolean } = {},
): void {
  pikkuState(null, 'rpc', 'meta')[name] = name
  pikkuState(null, 'function', 'meta')[name] = { ...meta(name, 'helper'), ...options } as never
  addFunction(name, {
    func: async (_: unknown, data: Data, wire: StepWire) => await func(data, wire),
  } as never)
}

export function workflow<Data>(
  name: string,
  func: (workflow: PikkuWorkflowWire, data: Data) => Promise<unknown>,
): void {
  const registration = { name, pikkuFuncId: name, source: 'complex', graphHash: `hash-${name}` } as const
  pikkuState(null, 'workflows', 'meta')[name] = registration
  pikkuState(null, 'function', 'meta')[name] = meta(name, 'workflow') as never
  addWorkflow(name, {
    func: async (_: unknown, data: Data, wire: { workflow: PikkuWorkflowWire }) =>
      await func(wire.workflow, data),
  })
}

/** A workflow service beside others, as another process would have it; without queues. */
export function serviceOn(store: Store, lease: number | string = '5s'): PerdureWorkflowService {
  const service = new PerdureWorkflowService({ store, lease, keepStoreOpen: true, log: silentLog })
  onTestFinished(() => service.close())
  return service
}

/** Sets Pikku up on a store; begins to work unless told otherwise. */
export async function application(
  store: Store,
  { work = true, ...options }: Partial<PerdureServicesOptions> & { readonly work?: boolean } = {},
): Promise<PerdureServices> {
  const services = perdureServices({
    store,
    lease: '5s',
    pollInterval: 50,
    keepStoreOpen: true,
    log: silentLog,
    ...options,
  })
  onTestFinished(() => services.close())
  setServices(services)
  if (work) await services.start()
  return services
}

/** What Pikku's functions find as the services of the application. */
export function setServices(services: Partial<PerdureServices>): void {
  const { workflowService, queueService, schedulerService } = services
  setSingletonServices({
    config: {},
    logger,
    variables: {},
    secrets: { getSecret: async () => undefined },
    workflowService,
    queueService,
    schedulerService,
  } as never)
}

/** What Pikku's workers call functions with. */
export function caller(): PikkuRPC {
  return rpcService.getContextRPCService({ logger } as never, {}, { requiresAuth: false })
}
