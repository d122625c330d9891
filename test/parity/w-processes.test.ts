import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { createEngine } from '../../src/engine/engine.ts'
import { localNotifier } from '../../src/engine/local-notifier.ts'
import type { Hint, Notifier } from '../../src/ports/notifier.ts'
import { silentLog, VirtualTime } from '../../src/testing/virtual-time.ts'
import { muteNotifier, realEngine, recorder, SECOND, testEngine, turns } from './kit.ts'
import { forEachStore, memoryDatabase } from './stores.ts'

forEachStore((database) => {
  it('W10 each run is executed by one process at a time, each step once', async () => {
    const open = database()
    const executing = new Map<string, number>()
    const bodies = new Map<string, number>()
    const overlaps: string[] = []
    const guarded = defineWorkflow({ name: 'guarded' }, async ({ run, step }) => {
      for (const name of ['a', 'b', 'c']) {
        await step.do(name, async () => {
          const inside = (executing.get(run.id) ?? 0) + 1
          executing.set(run.id, inside)
          if (inside > 1) overlaps.push(`${run.id} ${name}`)
          const key = `${run.id} ${name}`
          bodies.set(key, (bodies.get(key) ?? 0) + 1)
          await turns(2)
          executing.set(run.id, inside - 1)
        })
        await step.sleep(`after ${name}`, 5)
      }
    })
    const workers = await Promise.all(
      [1, 2, 3].map(() => realEngine({ store: open(), workflows: [guarded], hotRuns: 2 }, 5)),
    )
    const [first] = workers
    const runs = Array.from({ length: 20 }, (_, index) => `run-${index}`)
    const client = createEngine({ store: open(), workflows: [guarded], log: silentLog, pollInterval: 10 })
    const handles = await Promise.all(runs.map((id) => client.startWorkflow(guarded, null, { id })))
    await Promise.all(handles.map((handle) => handle.result({ timeout: '20s' })))
    await client.close()
    expect(first).toBeDefined()
    expect(overlaps).toEqual([])
    expect(bodies.size).toBe(60)
    expect([...bodies.values()].every((count) => count === 1)).toBe(true)
  })

  it('W10 two processes that claim at the same moment never get the same run', async () => {
    const open = database()
    const [one, other] = [open(), open()]
    const noop = defineWorkflow({ name: 'noop' }, () => null)
    const client = createEngine({ store: one, workflows: [noop], log: silentLog, keepStoreOpen: true })
    for (let index = 0; index < 30; index += 1) await client.startWorkflow(noop, null)
    await client.close()
    const request = {
      workflows: [{ name: 'noop', version: '' }],
      queues: null,
      limit: 7,
      now: Date.now() + 1,
    }
    const claims = Array.from({ length: 10 }, (_, index) => {
      return (index % 2 === 0 ? one : other).claim({ ...request, worker: `worker ${index}` })
    })
    const ids = (await Promise.all(claims)).flat().map(({ id }) => id)
    expect(ids).toHaveLength(30)
    expect(new Set(ids).size).toBe(30)
  })
})

/** A run that needs another process twice: a child there, and an event from there. */
const child = defineWorkflow({ name: 'child' }, ({ input, step }) =>
  step.do('work', () => `child of ${input}`),
)
const parent = defineWorkflow({ name: 'parent' }, async ({ step }) => {
  const result = await step.do('child', child, 'parent')
  return [result, await step.waitForEvent('go')]
})

/** Executes `parent` in one process and `child` in another, started by a third. Returns how long it took. */
async function acrossProcesses(notifier: () => Notifier): Promise<number> {
  const [time, open] = [new VirtualTime(), memoryDatabase()]
  const begun = time.now
  const shared = { time, pollInterval: '1s', lease: '30s' }
  await testEngine({ ...shared, store: open(), notifier: notifier(), workflows: [parent], seed: 'parents' })
  await testEngine({ ...shared, store: open(), notifier: notifier(), workflows: [child], seed: 'children' })
  const workflows = [parent, child]
  const client = await testEngine({
    ...shared,
    store: open(),
    notifier: notifier(),
    workflows,
    seed: 'client',
    work: false,
  })
  const handle = await client.engine.startWorkflow(parent, null)
  const result = handle.result()
  for (let moves = 0; moves < 30 && (await handle.status()) !== 'waiting'; moves += 1) await time.advance(100)
  await client.engine.sendEvent(handle.id, 'go', 'gone')
  expect(await client.until(result)).toEqual(['child of parent', 'gone'])
  return time.now - begun
}

describe('without a queue or a server beside the store', () => {
  it('W11 work is found by polling alone', async () => {
    const took = await acrossProcesses(muteNotifier)
    expect(took).toBeLessThanOrEqual(6 * SECOND)
    expect(took).toBeGreaterThan(0)
  })

  it('W11 a notifier makes it faster', async () => {
    const line = memoryDatabase()()
    expect(await acrossProcesses(() => localNotifier(line))).toBeLessThanOrEqual(100)
  })

  it('W11 a notifier that doubles and delays what it carries does no harm', async () => {
    const line = memoryDatabase()()
    const untidy = (): Notifier => {
      const notifier = localNotifier(line)
      const late: Hint[] = []
      return {
        ...notifier,
        publish: (hints) => {
          notifier.publish([...late.splice(0), ...hints, ...hints])
          late.push(...hints)
        },
      }
    }
    expect(await acrossProcesses(untidy)).toBeLessThanOrEqual(6 * SECOND)
  })

  it('W11 a worker that found nothing for a long time still finds what comes', async () => {
    const [time, open] = [new VirtualTime(), memoryDatabase()]
    const { events, observer } = recorder()
    await testEngine({
      time,
      store: open(),
      notifier: muteNotifier(),
      workflows: [child],
      observer,
      seed: 'worker',
    })
    const client = await testEngine({ time, store: open(), workflows: [child], work: false, seed: 'client' })
    for (let round = 0; round < 5; round += 1) {
      await time.advance(10 * SECOND)
      const handle = await client.engine.startWorkflow(child, round)
      await time.advance(2 * SECOND)
      expect(await handle.status()).toBe('completed')
    }
    expect(events.filter(({ type }) => type === 'body-started')).toHaveLength(5)
  })
})
