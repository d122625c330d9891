import type { CoreUserSession } from '@pikku/core'
import { getSingletonServices } from '@pikku/core/ecosystem'
import { type PikkuRPC, RPCNotFoundError, rpcService } from '@pikku/core/rpc'
import { createMiddlewareSessionWireProps, PikkuSessionService } from '@pikku/core/services'
import { PermanentError } from '../core/errors.ts'
import { defineWorkflow } from '../engine/define.ts'
import type { Workflow, WorkflowContext } from '../engine/workflow.ts'

/** A call of an RPC, as it is kept until it is due. */
export interface CallInput {
  readonly rpcName: string
  readonly data: unknown
  readonly session: CoreUserSession | undefined
}

/** Rides out an outage, as Pikku's own retries do. */
const RETRIES = { retries: 5, retryDelay: 'exponential' } as const

/** The queue of calls: processes that work on no queue of Pikku's make none. */
export const CALL_QUEUE = 'pikku:calls'

/** A call that was scheduled is a run of this workflow. */
export const callWorkflow: Workflow<CallInput, unknown> = defineWorkflow(
  { name: 'pikku:call', queue: CALL_QUEUE },
  async ({ input, step }: WorkflowContext<CallInput>) => {
    return await step.do('call', async () => await call(input), RETRIES)
  },
)

async function call({ rpcName, data, session }: CallInput): Promise<unknown> {
  const services = getSingletonServices()
  const sessionService = new PikkuSessionService<CoreUserSession>(services.sessionStore)
  if (session !== undefined) sessionService.setInitial(session)
  const wire = createMiddlewareSessionWireProps(sessionService)
  const rpc: PikkuRPC = rpcService.getContextRPCService(services, wire, {
    requiresAuth: false,
    sessionService,
  })
  try {
    return await rpc.invoke(rpcName, data)
  } catch (error) {
    if (!(error instanceof RPCNotFoundError)) throw error
    throw new PermanentError(`There is no function "${rpcName}" to call.`, { cause: error })
  }
}
