import type { Log } from '../../src/ports/environment.ts'
import type { Store } from '../../src/ports/store.ts'
import type { QueueAdapter } from '../../src/queues/adapter.ts'
import { WorkflowRunner } from '../../src/runner/runner.ts'
import type { TestEngine, TestEngineOptions } from '../../src/testing/test-engine.ts'
import { engineFor } from '../parity/runner-kit.ts'

export interface TestRunner {
  readonly runner: WorkflowRunner
  readonly test: TestEngine
  /** What was logged as a warning or an error. */
  readonly logged: string[]
}

/** A runner on an engine in virtual time. */
export async function runnerFor(
  options: TestEngineOptions & { readonly store: Store; readonly queueAdapter?: QueueAdapter },
): Promise<TestRunner> {
  const { queueAdapter, ...rest } = options
  const test = await engineFor(rest)
  return runnerOn(test, { ...(queueAdapter !== undefined && { queueAdapter }) })
}

/** A runner on this engine. */
export function runnerOn(
  test: TestEngine,
  options: { readonly queueAdapter?: QueueAdapter } = {},
): TestRunner {
  const logged: string[] = []
  const environment = test.time.environment({ seed: 'runner', log: collecting(logged) })
  const runner = new WorkflowRunner({ engine: test.engine, environment, sweepIntervalMs: 60_000, ...options })
  return { runner, test, logged }
}

/** A log that keeps its warnings and errors. */
export function collecting(lines: string[]): Log {
  const add = (message: string, fields?: Readonly<Record<string, unknown>>): void => {
    lines.push(`${message} ${JSON.stringify(fields ?? {})}`)
  }
  return { debug: () => {}, info: () => {}, warn: add, error: add }
}
