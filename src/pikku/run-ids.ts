import type { WorkflowRunWire } from '@pikku/core/workflow'
import { currentExecution } from './execution.ts'
import { childRunId, parseStepId } from './ids.ts'
import type { Records } from './records.ts'
import { encode } from './values.ts'

interface NewPikkuRun {
  readonly workflow: string
  readonly input: unknown
  readonly wire: WorkflowRunWire
}

/** The id of a run. That of a child follows from the step that starts it: a step that is done again finds its child. */
export async function newRunId(records: Records, run: NewPikkuRun): Promise<string> {
  const stepId = await startingStep(records, run)
  return stepId === null ? records.backing.env.uuid('pikku run') : childRunId(stepId)
}

async function startingStep(
  records: Records,
  { workflow, input, wire }: NewPikkuRun,
): Promise<string | null> {
  if (wire.parentRunId === undefined) return null
  if (wire.parentStepId !== undefined) return wire.parentStepId
  // Pikku does not say which step starts a child that runs within the parent's own tick. It is one that this
  // execution has claimed, which names that workflow.
  const execution = currentExecution()
  if (execution?.runId !== wire.parentRunId) return null
  const claimed = [...execution.claims.keys()]
  const steps = await records.steps.readAll(claimed.flatMap((id) => parseStepId(id)?.recordId ?? []))
  const text = encode(input, 'An input')
  const names = new Map(steps.filter(({ rpcName }) => rpcName === workflow).map((step) => [step.id, step]))
  const candidates = claimed.filter((id) => {
    const step = names.get(parseStepId(id)?.recordId ?? '')
    return step !== undefined && encode(step.data, 'An input') === text
  })
  return execution.nextOf(candidates)
}
