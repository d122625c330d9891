import { defineWorkflow, type WorkflowOptions } from '../../../src/engine/define.ts'
import type { RegisteredFunction, Workflow, WorkflowFunction } from '../../../src/engine/workflow.ts'
import type { CrashDriver, CrashOptions } from '../../../src/testing/crash-options.ts'

/** What a scenario promises, and what happens around it. */
export interface ScenarioOptions {
  /** Default `completed`. */
  readonly status?: 'completed' | 'failed' | 'cancelled'
  readonly output?: unknown
  /** Fields that its error has. */
  readonly error?: Readonly<Record<string, unknown>>
  /** How many step bodies are called, attempts and those of children included. */
  readonly bodies: number
  readonly input?: unknown
  readonly workflow?: Omit<WorkflowOptions<unknown>, 'name'>
  readonly children?: readonly Workflow[]
  readonly functions?: Readonly<Record<string, RegisteredFunction>>
  readonly drive?: (driver: CrashDriver, runId: string) => Promise<void>
  readonly start?: CrashOptions['start']
  /** The run starts over, so that a body is called again for the same attempt. */
  readonly restarts?: boolean
  /** Why the order of outcomes may be another after a crash. */
  readonly orderMayChange?: string
  /** What it may come to where two things of the same instant come in any order. */
  readonly outputIfInexact?: readonly unknown[]
  /** Why what comes out may be another after a crash; then only the status counts. */
  readonly resultMayChange?: string
}

export interface Scenario extends ScenarioOptions {
  readonly name: string
  readonly definition: Workflow
}

/** Describes a workflow and what must come of it, whatever way it is executed. */
export function scenario(
  name: string,
  fn: WorkflowFunction<unknown, unknown>,
  options: ScenarioOptions,
): Scenario {
  return { name, definition: defineWorkflow({ ...options.workflow, name }, fn), ...options }
}

/** When virtual time begins. */
export const START = Date.UTC(2030, 0, 1)
export const HOUR = 3_600_000
