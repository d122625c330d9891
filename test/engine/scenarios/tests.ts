import { describe, expect, it } from 'vitest'
import type { EntryKind } from '../../../src/core/run.ts'
import type { StartOptions } from '../../../src/engine/api.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { BodyCall } from '../../../src/testing/activity.ts'
import { crashEverywhere } from '../../../src/testing/crash-kit.ts'
import type { CrashReport } from '../../../src/testing/crash-report.ts'
import { type RunResult, resultOf } from '../../../src/testing/run-result.ts'
import { createTestEngine } from '../../../src/testing/test-engine.ts'
import { awkward } from './awkward.ts'
import { cancels } from './cancels.ts'
import { children } from './children.ts'
import { retries } from './retries.ts'
import { runs } from './runs.ts'
import type { Scenario } from './scenario.ts'
import { steps } from './steps.ts'
import { values } from './values.ts'
import { waiting } from './waiting.ts'

const groups = { steps, retries, values, waiting, children, runs, cancels, awkward }

interface Execution {
  readonly result: RunResult
  readonly bodies: readonly BodyCall[]
}

/** A real ms is plenty for bodies that do nothing but wait for virtual time. */
const PATIENCE_MS = 1

export interface Ground {
  /** Makes an empty store. */
  readonly makeStore: () => Store | Promise<Store>
  /** Whether the store answers at once, so that all happens in the same order every time. */
  readonly exact: boolean
  /** Whether to crash at every call, too. Default: yes. */
  readonly crashes?: boolean
}

/** Registers the tests of all scenarios, on stores of one kind. */
export function scenarioTests(ground: Ground): void {
  describe.each(Object.entries(groups))('%s', (_, scenarios) => {
    const named = scenarios.map((scenario) => [scenario.name, on(ground, scenario)] as const)
    describe.each(named)('%s', (_name, scenario) => {
      it('comes out as promised, each body called once per attempt', async () => {
        const { result, bodies } = await execute(scenario, ground, {})
        const { status = 'completed', output } = scenario
        expect(result.error).toEqual(status === 'completed' ? undefined : result.error)
        expect(result.status).toEqual(status)
        expect(scenario.outputIfInexact ?? [output]).toContainEqual(result.output)
        if (scenario.error !== undefined) expect(result.error).toMatchObject(scenario.error)
        expect(bodies).toHaveLength(scenario.bodies)
        if (scenario.restarts !== true) expect(new Set(bodies.map(nameOf)).size).toBe(bodies.length)
      })

      it('comes out the same when it is replayed after every wait', async () => {
        const hot = await execute(scenario, ground, {})
        const cold = await execute(scenario, ground, { hotRuns: 0 })
        if (scenario.outputIfInexact !== undefined) return expect(cold.result.status).toBe(hot.result.status)
        expect(inAnyOrder(scenario, cold.result)).toEqual(inAnyOrder(scenario, hot.result))
        expect(cold.bodies.map(nameOf)).toEqual(hot.bodies.map(nameOf))
      })

      if (ground.crashes === false) return
      it('survives a crash at every call of the store', async () => {
        const baseline = await crashEverywhereIn(scenario, ground, 1000)
        // Without a wait, the first process never replays: it would be the same again. On the slow stores it is left
        // out: what they are asked to write is the same, hot or cold.
        const replays = baseline.outcomes.some(({ kind }) => waits.has(kind))
        if (replays && ground.exact) await crashEverywhereIn(scenario, ground, 0)
      })
    })
  })
}

/** What a scenario promises on these stores. */
function on({ exact }: Ground, scenario: Scenario): Scenario {
  const { outputIfInexact, ...promised } = scenario
  if (exact) return promised
  const order = 'Bodies that run together end in any order.'
  if (outputIfInexact === undefined) return { orderMayChange: order, ...scenario }
  return { ...scenario, orderMayChange: order, resultMayChange: 'Two things come at the same time.' }
}

const waits: ReadonlySet<EntryKind> = new Set(['sleep', 'event', 'child'])

async function crashEverywhereIn(scenario: Scenario, ground: Ground, hotRuns: number): Promise<RunResult> {
  const { definition, input, children: workflows, functions, drive, start, resultMayChange } = scenario
  const report = await crashEverywhere(definition, input, {
    hotRuns,
    store: ground.makeStore,
    patience: PATIENCE_MS,
    ...(workflows && { workflows }),
    ...(functions && { functions }),
    ...(drive && { drive: (driver, { id }) => drive(driver, id) }),
    ...(start && { start }),
    ...(resultMayChange !== undefined && { equals: sameStatus }),
  })
  if (ground.exact) report.assertSound()
  else assertSoundWhereReached(report, scenario)
  const { baseline, cuts } = report
  const isInterrupted = baseline.outcomes.some(({ kind }) => kind === 'interrupt')
  if (scenario.orderMayChange !== undefined || resultMayChange !== undefined || isInterrupted) return baseline
  for (const { at, result } of cuts) expect([at, keysOf(result)]).toEqual([at, keysOf(baseline)])
  return baseline
}

/** Where calls take their time, a point may not come again: then nothing was cut off. That must be rare. */
function assertSoundWhereReached(report: CrashReport, { status = 'completed' }: Scenario): void {
  const { baseline, cuts, unsound } = report
  expect(baseline.status).toBe(status)
  if (unsound.some(({ reached }) => reached)) report.assertSound()
  expect(cuts.filter(({ reached }) => reached).length).toBeGreaterThan(cuts.length / 2)
  for (const { at, result } of cuts) expect([at, result.status]).toEqual([at, status])
}

async function execute(
  scenario: Scenario,
  ground: Ground,
  options: { readonly hotRuns?: number },
): Promise<Execution> {
  const { definition, input, children: workflows = [], functions = {}, drive } = scenario
  const test = await createTestEngine({
    ...options,
    store: await ground.makeStore(),
    workflows: [definition, ...workflows],
    functions,
    patience: PATIENCE_MS,
    retention: '365 days',
  })
  const start: StartOptions = { ...scenario.start, id: 'scenario' }
  await test.engine.startWorkflow(definition, input, start)
  await drive?.(driverOf(test), 'scenario')
  await test.runUntilIdle()
  const [journal] = await test.store.journal(['scenario'], { entries: true })
  if (journal === undefined) throw new Error('no journal')
  const { bodies } = test
  await test.close()
  return { result: resultOf(journal), bodies }
}

function driverOf(test: Awaited<ReturnType<typeof createTestEngine>>) {
  const { engine, time } = test
  return {
    engine,
    time,
    runUntilIdle: () => test.runUntilIdle(),
    advance: (duration: string | number) => test.advance(duration),
    until: <Value>(promise: Promise<Value>) => test.until(promise),
  }
}

function nameOf({ runId, key, attempt }: BodyCall): string {
  return `${runId} ${key} ${attempt}`
}

function inAnyOrder(scenario: Scenario, result: RunResult): RunResult {
  if (scenario.orderMayChange === undefined) return result
  return { ...result, outcomes: [...result.outcomes].sort((a, b) => (a.key < b.key ? -1 : 1)) }
}

function keysOf({ outcomes }: RunResult): string[] {
  return outcomes.map(({ key }) => key)
}

function sameStatus(expected: RunResult, actual: RunResult): boolean {
  return expected.status === actual.status
}
