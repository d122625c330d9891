/** What really happened, from the journals and the log of side effects, and whether it may. */
import { expect } from 'vitest'
import type { Engine, RunRecord } from '../../src/index.ts'
import { type Fleet, startedWorkflows } from './fleet.ts'
import type { Effect, World } from './kit.ts'

/** The journal of each workflow. `small` and `remote` are the children of others. */
const steps: Readonly<Record<string, readonly string[]>> = {
  sequential: numbered('s', 10),
  parallel: [...numbered('s', 6), 'item', 'item#2', 'item#3', 's10'],
  sleeping: [...numbered('s', 5), ...numbered('nap', 5)],
  family: [...numbered('s', 6), ...numbered('child', 4)],
  calling: [...numbered('s', 4), ...numbered('call', 6)],
  small: ['c1', 'nap', 'c2'],
  remote: ['call'],
}
/** Checks that all came to a good end, and that nothing was done twice without cause. Returns the story in words. */
export async function verify(world: World, fleet: Fleet): Promise<string> {
  const engine = world.client()
  const runs = await allRuns(engine)
  const truth = await truthOf(engine, runs)
  const effects = world.effects()

  // Every run that was accepted, and every child, ended well and has the journal of its workflow, each step once.
  expect(runs.filter(({ status }) => status !== 'completed')).toEqual([])
  expect(fleet.accepted.size).toBeGreaterThanOrEqual(8)
  for (const [number, id] of fleet.accepted) {
    const run = runs.find((candidate) => candidate.id === id)
    const workflow = startedWorkflows[number % startedWorkflows.length]
    expect(run).toMatchObject({ key: `key-${number}`, workflow })
    expect(fleet.results.get(number)).toEqual(truth.outputs.get(id))
  }
  // One run per key, also when its client was killed and another asked again.
  expect(runs.filter(({ key }) => key !== null)).toHaveLength(fleet.started.size)
  expect(fleet.contradictions).toEqual([])

  const repeats = judge(effects, truth, fleet)
  expect(repeats.unexplained).toEqual([])
  // No body ever saw an outcome that was not, or not yet, durable.
  expect(effects.filter(({ saw = [] }) => saw.some((nonce) => !truth.nonces.has(nonce)))).toEqual([])
  expect(fleet.troubles()).toEqual([])
  expect(await world.flaws()).toEqual([])
  return (
    `${fleet.killed.size} kills (${fleet.clientKills} of clients), ${fleet.accepted.size} runs accepted, ` +
    `${runs.length} runs, ${effects.filter(({ at }) => at === 'start').length} bodies started, ` +
    `${repeats.byKill} repeats explained by kills, ${repeats.byLoss} by lost leases, ` +
    `longest takeover ${fleet.longestTakeover(effects)} ms (lease ${fleet.leaseMs} ms), ` +
    `${fleet.repeatedStarts} starts repeated because the store was not available`
  )
}

interface Truth {
  /** The run that executes a body: the step's own, or the one of the function that it calls. */
  readonly runOf: (effect: Effect) => string
  /** All nonces that a journal holds. */
  readonly nonces: ReadonlySet<string>
  readonly outputs: ReadonlyMap<string, unknown>
}

/** Reads what the journals hold, and checks that each holds every step of its workflow once. */
async function truthOf(engine: Engine, runs: readonly RunRecord[]): Promise<Truth> {
  const nonces = new Set<string>()
  const outputs = new Map<string, unknown>()
  const called = new Map<string, string>()
  for (const run of runs) {
    const handle = engine.getHandle(run.id)
    const { entries } = await handle.history()
    const expected = [...(steps[run.workflow] ?? [])].sort()
    expect(entries.map(({ name }) => name).sort(), run.id).toEqual(expected)
    expect(
      entries.filter(({ status }) => status !== 'succeeded'),
      run.id,
    ).toEqual([])
    for (const { kind, result } of entries) if (kind === 'step') nonces.add(String(result))
    outputs.set(run.id, await handle.result())
    if (run.workflow === 'remote') called.set(`${run.parentId} ${run.parentStep}`, run.id)
  }
  return { nonces, outputs, runOf: (effect) => called.get(bodyOf(effect)) ?? effect.run }
}

/** Asks of each body that was started, and is not the one that was recorded, why it was in vain. */
function judge(effects: readonly Effect[], { nonces, runOf }: Truth, fleet: Fleet) {
  const unexplained: Effect[] = []
  let byKill = 0
  let byLoss = 0
  const bodies = new Map<string, Effect[]>()
  for (const effect of effects.filter(({ at }) => at === 'start')) {
    bodies.set(bodyOf(effect), [...(bodies.get(bodyOf(effect)) ?? []), effect])
  }
  const ended = new Set(effects.filter(({ at }) => at === 'end').map(({ nonce }) => nonce))
  for (const starts of bodies.values()) {
    const pids = new Set<number>()
    for (const [i, start] of starts.entries()) {
      const isRecorded = nonces.has(start.nonce)
      const isAgain = pids.has(start.pid)
      pids.add(start.pid)
      // The recorded call is the last one, and it had ended.
      if (isRecorded && ended.has(start.nonce) && i === starts.length - 1) continue
      if (!isRecorded && !isAgain && fleet.killed.has(start.pid)) byKill += 1
      else if (!isRecorded && fleet.lost(start.pid, runOf(start))) byLoss += 1
      else unexplained.push(start)
    }
  }
  return { unexplained, byKill, byLoss }
}

export function bodyOf({ run, step }: Effect): string {
  return `${run} ${step}`
}

async function allRuns(engine: Engine): Promise<readonly RunRecord[]> {
  const runs: RunRecord[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await engine.listRuns(cursor === undefined ? { limit: 1_000 } : { limit: 1_000, cursor })
    runs.push(...page.runs)
    cursor = page.cursor
  }
  return runs
}

function numbered(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${name}${i + 1}`)
}
