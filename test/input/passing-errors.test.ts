import { describe, expect, it, onTestFinished } from 'vitest'
import { StoreError } from '../../src/core/errors.ts'
import { defineWorkflow } from '../../src/engine/define.ts'
import { createEngine } from '../../src/engine/engine.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { type StoreMethod, wrapStore } from '../../src/testing/wrap-store.ts'

/** The calls that fail, by kind: the first, second, … of those that are made. */
const methods: readonly (readonly [StoreMethod, readonly number[]])[] = [
  ['migrate', [1]],
  ['commit', [1, 2, 3, 5, 8, 13]],
  ['claim', [1, 2, 3, 5, 8]],
  ['journal', [1, 2, 3, 5]],
  ['heartbeat', [1, 2, 3, 5, 8]],
  ['reap', [1, 2, 3]],
  ['nextDue', [1, 2, 3, 5, 8]],
  ['getRun', [1, 2, 3, 5, 8]],
  ['prune', [1, 2]],
]
const RUNS = 5

/** One call fails once, before or after it took effect (B140). */
describe.each(methods)('a %s that fails once', (method, calls) => {
  it.each(calls)('at call %i, before it took effect: all goes on, no rejection is unhandled', async (nth) => {
    expect(await outcome(method, nth, 'before')).toEqual(allIsWell)
  })

  it.each(calls)('at call %i, after it took effect: all goes on, no rejection is unhandled', async (nth) => {
    expect(await outcome(method, nth, 'after')).toEqual(allIsWell)
  })
})

const allIsWell = { failed: true, statuses: Array(RUNS).fill('completed'), unhandled: [] }

async function outcome(method: StoreMethod, nth: number, when: 'before' | 'after') {
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => {
    unhandled.push(reason)
  }
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  const [time, shared] = [new VirtualTime(), memory()]
  let calls = 0
  const failure = () => new StoreError('unavailable', 'The connection was lost. Try again.')
  const store = wrapStore(shared, async (called, call) => {
    if (called === method) calls += 1
    const fails = called === method && calls === nth
    if (fails && when === 'before') throw failure()
    const result = await call()
    if (fails) throw failure()
    return result
  })
  const engine = createEngine({
    store,
    workflows: [parent, child],
    functions: { send: () => 'sent' },
    environment: time.environment(),
    hotRuns: 2,
  })
  const begin = () => engine.work({ concurrency: 3 })
  await settled(time, begin().catch(begin))
  const ids: string[] = []
  for (let i = 0; i < RUNS; i += 1) {
    const id = `run ${i}`
    const start = () => engine.startWorkflow(parent, i, { id })
    await settled(time, start().catch(start))
    const result = engine.getHandle(id).result()
    result.catch(() => {})
    ids.push(id)
  }
  await time.advance(10_000)
  for (const id of ids) {
    const send = () => engine.sendEvent(id, 'go', 1, { id: 'go' })
    await settled(time, send().catch(send))
  }
  await time.advance(120_000)
  const runs = await Promise.all(ids.map((id) => shared.getRun(id)))
  await settled(time, engine.close())
  await time.settle()
  return { failed: calls >= nth, statuses: runs.map((run) => run?.status), unhandled }
}

const child = defineWorkflow({ name: 'child' }, ({ step }) => step.do('double', () => 2))
const parent = defineWorkflow({ name: 'parent' }, async ({ run, step }) => {
  await run.save({ stage: 1 })
  await Promise.all([step.do('one', () => 1), step.do('child', child, 1), step.do('call', 'send', 1)])
  await step.sleep('pause', '1s')
  return await step.waitForEvent('go')
})

/** Time goes on until a promise is settled. */
async function settled<Value>(time: VirtualTime, promise: Promise<Value>): Promise<Value> {
  let isSettled = false
  const note = (): void => {
    isSettled = true
  }
  promise.then(note, note)
  for (let i = 0; i < 1000 && !isSettled; i += 1) await time.advance(20)
  return await promise
}
