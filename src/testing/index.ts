// Testing workflows.

export type { BodyCall } from './activity.ts'
export { crashEverywhere } from './crash-kit.ts'
export type { CrashDriver, CrashOptions } from './crash-options.ts'
export type { CrashReport, Cut, Repeated } from './crash-report.ts'
export type { RunOutcome } from './outcome.ts'
// Testing queue adapters.
export { type OpenQueue, type QueueAdapterSuiteOptions, queueAdapterSuite } from './queue-suite/index.ts'
export type { RunResult, StepResult } from './run-result.ts'
// The simulator.
export * from './simulator/index.ts'
// Testing stores.
export { type OpenStore, type RegisterTest, type StoreSuiteOptions, storeSuite } from './store-suite/index.ts'
export { createTestEngine, type TestEngine, type TestEngineOptions, type TestRun } from './test-engine.ts'
export { silentLog, type VirtualEnvironmentOptions, VirtualTime } from './virtual-time.ts'
