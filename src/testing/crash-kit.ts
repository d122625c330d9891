import type { Workflow } from '../engine/workflow.ts'
import type { CrashOptions } from './crash-options.ts'
import { type CutPoint, hasTwoSides, type StoreCall } from './crash-process.ts'
import { CrashReport, type Cut } from './crash-report.ts'
import { type CrashPlan, type Played, play } from './crash-world.ts'
import { differences } from './run-result.ts'

/**
 * Runs a workflow once, and then again for each call that its engine made to the store, twice: with the process cut off
 * just before the call, and just after it was applied, its answer lost. Each time another process takes over
 * once the lease is over. Tells whether every run came out like the one without a crash, and which side effects
 * happened more often. All of it in virtual time, the same way every time.
 *
 * @example
 * const report = await crashEverywhere(order, { orderId: 'o-1' }, {
 *   drive: async ({ engine, runUntilIdle }, handle) => {
 *     await runUntilIdle()
 *     await engine.sendEvent(handle.id, 'approval', { by: 'Ada' })
 *   },
 * })
 * report.assertSound()
 * console.log(String(report)) // also says which steps would run twice
 */
export async function crashEverywhere<Input, Output>(
  workflow: Workflow<Input, Output>,
  input: Input,
  options: CrashOptions = {},
): Promise<CrashReport> {
  const plan = { workflow, input, options, waitsForTime: new Set<string>() }
  const baseline = await play(plan, null)
  const cuts: Cut[] = []
  for (const [call, made] of baseline.calls.entries()) {
    cuts.push(await cutAt(plan, baseline, { call, side: 'before' }, made))
    if (hasTwoSides(made)) cuts.push(await cutAt(plan, baseline, { call, side: 'after' }, made))
  }
  return new CrashReport(workflow.name, baseline, cuts)
}

async function cutAt(plan: CrashPlan, baseline: Played, point: CutPoint, made: StoreCall): Promise<Cut> {
  const played = await play(plan, point)
  const { equals } = plan.options
  const compare = (): string[] => {
    if (!played.cut) return ['The run did not come to this point again: it is not the same every time.']
    if (equals === undefined) return differences(baseline.result, played.result)
    return equals(baseline.result, played.result) ? [] : ['The result is not equal, by `equals`.']
  }
  const found = compare()
  const at = `${point.side} call ${point.call + 1}, ${made.what}`
  return {
    ...point,
    method: made.method,
    reached: played.cut,
    at,
    result: played.result,
    effects: played.effects,
    differences: found,
  }
}
