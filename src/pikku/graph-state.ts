import type { StepRecord } from './step-log.ts'

/** How far a graph has come, as Pikku's planner wants to know it. */
export interface GraphState {
  completedNodeIds: string[]
  failedNodeIds: string[]
  branchKeys: Record<string, string>
}

export function graphStateOf(steps: readonly StepRecord[]): GraphState {
  return {
    completedNodeIds: steps.filter(({ latest }) => latest.status === 'succeeded').map(nameOf),
    failedNodeIds: steps.filter(hasFailed).map(nameOf),
    branchKeys: Object.fromEntries(steps.flatMap(branchesOf)),
  }
}

function nameOf({ stepName }: StepRecord): string {
  return stepName
}

/** A node that names no retries has none, as for Pikku's own stores. */
function hasFailed({ latest, retries = 0 }: StepRecord): boolean {
  return latest.status === 'failed' && latest.number > retries
}

function branchesOf({ stepName, attempts }: StepRecord): (readonly [string, string])[] {
  return attempts.flatMap(({ branchKey }) => (branchKey === undefined ? [] : [[stepName, branchKey]]))
}
