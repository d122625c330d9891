import type { Log } from '../ports/environment.ts'
import type { Execution } from './execution.ts'
import type { Definition, Registry } from './registry.ts'
import { RunApi } from './run-control.ts'
import { StepApi } from './step-context.ts'
import type { StepContext } from './workflow.ts'

/** Calls what a run executes: its workflow's function, or the registered function in a step of its own. */
export function invoke(
  definition: Definition,
  execution: Execution,
  registry: Registry,
  input: unknown,
): Promise<unknown> {
  const step = new StepApi(execution, registry)
  if (definition.kind === 'workflow') {
    const run = new RunApi(execution)
    return definition.workflow.call({
      input,
      step,
      run,
      signal: execution.conductor.signal,
      log: replayAware(execution),
    })
  }
  const { retry } = execution.config
  const policy = execution.run.policy.call ?? { retry, timeout: null, atMostOnce: false }
  const body = (context: StepContext): unknown => definition.fn(input as never, context)
  return step.callFunction(body, { ...policy, retryIf: null })
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
