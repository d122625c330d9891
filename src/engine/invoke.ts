import type { Log } from '../ports/environment.ts'
import type { Execution } from './execution.ts'
import type { Executable, Registry } from './registry.ts'
import { RunApi } from './run-api.ts'
import { StepApi } from './step-api.ts'
import type { StepContext, WorkflowContext } from './workflow.ts'

/** Calls what a run executes: its workflow's function, or the registered function in a step of its own. */
export function invoke(
  definition: Executable,
  execution: Execution,
  registry: Registry,
  input: unknown,
): Promise<unknown> {
  const step = new StepApi(execution, registry)
  if (definition.kind === 'workflow') return definition.call(new FunctionContext(execution, step, input))
  const { retry } = execution.config
  const policy = execution.run.policy.call ?? { retry, timeout: null, atMostOnce: false }
  const body = (context: StepContext): unknown => definition.fn(input as never, context)
  return step.callFunction(body, { ...policy, retryIf: null })
}

/** What a workflow's function is given. */
class FunctionContext implements WorkflowContext {
  readonly input: unknown
  readonly step: StepApi
  readonly run: RunApi
  readonly log: Log
  readonly #execution: Execution

  constructor(execution: Execution, step: StepApi, input: unknown) {
    this.input = input
    this.step = step
    this.run = new RunApi(execution)
    this.log = replayAware(execution)
    this.#execution = execution
  }

  get signal(): AbortSignal {
    return this.#execution.conductor.signal
  }
}

/** A log that is silent while the run is replayed: its lines were written when it happened. */
function replayAware(execution: Execution): Log {
  const { log } = execution.env
  const unless = (write: Log['info']): Log['info'] => {
    return (message, fields) => {
      if (!execution.conductor.replaying) write.call(log, message, { runId: execution.run.id, ...fields })
    }
  }
  return {
    debug: unless(log.debug),
    info: unless(log.info),
    warn: unless(log.warn),
    error: unless(log.error),
  }
}
