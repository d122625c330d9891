import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { Workflow } from '../../src/engine/workflow.ts'
import { crashEverywhere } from '../../src/testing/crash-kit.ts'
import type { TestEngine } from '../../src/testing/test-engine.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { advances, type Call, carries, dyingAt, freezable, leadsTo } from './faults.ts'
import { MINUTE, mortalEngine, signal, testEngine } from './kit.ts'
import { forEachStore, memoryDatabase, type Open } from './stores.ts'

const LEASE = '15s'

const three = defineWorkflow({ name: 'three' }, async ({ step }) => {
  const results: string[] = []
  for (const name of ['a', 'b', 'c']) results.push(await step.do(name, () => name))
  return results
})

interface Pair {
  readonly first: TestEngine
  readonly second: TestEngine
}

/** A process that dies at a call, and another that is there from the start. */
async function pair(
  open: Open,
  workflows: Workflow[],
  when: (call: Call) => boolean,
  side: 'before' | 'after',
): Promise<Pair> {
  const time = new VirtualTime()
  const shared = { time, workflows, lease: LEASE }
  const first = await mortalEngine({ ...shared, store: dyingAt(open(), when, side), seed: 'first' })
  const second = await testEngine({ ...shared, store: open(), seed: 'second' })
  return { first, second }
}

forEachStore((database) => {
  it('X1 a run whose worker dies in a step is taken over, its death counted', async () => {
    const [time, open] = [new VirtualTime(), database()]
    const begun = signal()
    let calls = 0
    const hangs = defineWorkflow({ name: 'hangs' }, async ({ step, run }) => {
      const body = async (): Promise<string> => {
        calls += 1
        begun.send()
        return calls === 1 ? await new Promise(() => {}) : 'done'
      }
      return [await step.do('body', body), run.attempt]
    })
    const shared = { time, workflows: [hangs], lease: LEASE }
    const dying = freezable(open())
    const first = await mortalEngine({ ...shared, store: dying.store, seed: 'first' })
    const { id } = await first.engine.startWorkflow(hangs, null)
    await begun.promise
    dying.freeze()
    const second = await testEngine({ ...shared, store: open(), seed: 'second' })
    await second.advance('1m')
    expect(await second.until(second.engine.getHandle(id).result())).toEqual(['done', 2])
    expect(calls).toBe(2)
  })

  it('X27 what a frozen worker does after it was replaced has no effect', async () => {
    const [time, open] = [new VirtualTime(), database()]
    const [begun, release] = [signal(), signal()]
    let calls = 0
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      const who = await step.do('who', async () => {
        calls += 1
        if (calls > 1) return 'the second'
        begun.send()
        await release.promise
        return 'the first'
      })
      await step.do('effect', () => void effects.push(who))
      return who
    })
    const effects: string[] = []
    const shared = { time, workflows: [workflow], lease: LEASE }
    const frozen = freezable(open())
    const first = await mortalEngine({ ...shared, store: frozen.store, seed: 'first' })
    const { id } = await first.engine.startWorkflow(workflow, null)
    await begun.promise
    frozen.freeze()
    const second = await testEngine({ ...shared, store: open(), seed: 'second' })
    const handle = second.engine.getHandle(id)
    await second.advance('1m')
    expect(await second.until(handle.result())).toBe('the second')
    release.send()
    frozen.thaw()
    await first.advance('1m')
    expect(effects).toEqual(['the second'])
    expect((await handle.history()).entries.map(({ name, result }) => [name, result])).toEqual([
      ['who', 'the second'],
      ['effect', undefined],
    ])
    await first.close()
  })

  it('X27 an old claim neither extends nor ends a run that another worker holds', async () => {
    const store = database()()
    const [time] = [new VirtualTime()]
    await store.migrate()
    const client = await testEngine({ store, time, workflows: [three], work: false })
    const { id } = await client.engine.startWorkflow(three, null)
    const request = { workflows: [{ name: 'three', version: '' }], queues: null, limit: 1 }
    const lease = { leaseMs: 1000, register: true }
    await store.heartbeat({ id: 'old', ...lease }, time.now)
    await store.claim({ ...request, worker: 'old', now: time.now })
    expect(await store.reap(time.now + 1001, 10)).toEqual([id])
    expect(
      await store.heartbeat({ id: 'old', leaseMs: 1000, register: false }, time.now + 1002),
    ).toMatchObject({ alive: false })
    const [taken] = await store.claim({ ...request, worker: 'new', now: time.now + 1003 })
    expect(taken).toMatchObject({ id, fence: 2, owner: 'new' })
    const end = { status: 'completed', output: '[1]', error: null, cancelled: '' } as const
    const none = {
      entries: [],
      progress: false,
      children: [],
      deliveries: [],
      deliveriesIfCancelled: [],
      cancels: [],
    }
    for (const [worker, fence] of [
      ['old', 1],
      ['old', 2],
      ['new', 1],
    ] as const) {
      const claim = { runId: id, worker, fence, number: 1 }
      const write = { ...none, ...claim, type: 'advance', consumed: [], to: end } as const
      expect(await store.commit([write], time.now + 1004)).toEqual([{ status: 'fenced' }])
    }
    expect(await store.getRun(id)).toMatchObject({ status: 'running', owner: 'new' })
  })

  it.each(['before', 'after'] as const)(
    'B016 a death right %s the commit of any step does not block the lane',
    async (side) => {
      for (const key of ['a', 'b', 'c']) {
        const { first, second } = await pair(database(), [three], carries(key), side)
        const handle = await first.engine.startWorkflow(three, null)
        await first.engine.startWorkflow(three, null, { id: 'behind', delay: '1ms' })
        const again = second.engine.getHandle(handle.id)
        await second.advance('1m')
        expect(await second.until(again.result())).toEqual(['a', 'b', 'c'])
        expect(await second.until(second.engine.getHandle('behind').result())).toEqual(['a', 'b', 'c'])
        expect((await again.get()).deaths).toBe(0)
      }
    },
  )

  it('B004 a crash at any write of a run, its last included, loses neither its result nor its steps', async () => {
    const report = await crashEverywhere(three, null, { store: () => database()(), patience: 1 })
    report.assertSound()
    expect(report.cuts.length).toBeGreaterThan(5)
    for (const { name, most } of report.repeated) expect([name, most]).toEqual([name, 2])
  })

  it('X3 a crash between scheduling a step and starting it is impossible: both are one write', async () => {
    const calls = defineWorkflow({ name: 'calls' }, ({ step }) => step.do('remote', 'work', 3))
    const functions = { work: (n: number) => n * 2 }
    const report = await crashEverywhere(calls, null, {
      functions,
      store: () => database()(),
      patience: 1,
      hotRuns: 0,
    })
    report.assertSound()
    expect(report.baseline).toMatchObject({ status: 'completed', output: 6 })
  })
})

describe('a scheduled step', () => {
  it('X3 is written together with the run that does it', async () => {
    const commits: Call[] = []
    const store = dyingAt(memoryDatabase()(), (call) => commits.push(call) < 0, 'before')
    const calls = defineWorkflow({ name: 'calls' }, ({ step }) => step.do('remote', 'work', 3))
    const test = await testEngine({ store, workflows: [calls], functions: { work: (n: number) => n } })
    await test.run(calls, null)
    const scheduling = commits
      .filter(carries('remote', 'scheduled'))
      .flatMap(({ writes }) => advances(writes))
    const [write] = scheduling.filter(({ entries }) => entries.length > 0)
    expect(write?.children.map(({ run }) => run.id)).toEqual(write?.entries.map(({ childId }) => childId))
  })
})

describe('recovery', () => {
  it('B003 leaves runs alone that have ended, and their slots are free', async () => {
    const open = memoryDatabase()
    const time = new VirtualTime()
    const shared = { time, workflows: [three], lease: LEASE, work: { concurrency: 2 } }
    const dying = dyingAt(open(), leadsTo('completed'), 'after')
    await mortalEngine({ ...shared, store: dying, seed: 'first' })
    const client = await testEngine({ ...shared, store: open(), work: false, seed: 'client' })
    for (let index = 0; index < 10; index += 1) await client.engine.startWorkflow(three, null)
    await time.advance(2000)
    const second = await testEngine({ ...shared, store: open(), seed: 'second' })
    await second.advance('1m')
    expect((await second.engine.listRuns({ status: ['completed'] })).runs).toHaveLength(10)
    const before = second.bodies.length
    await second.advance('5m')
    expect(second.bodies).toHaveLength(before)
    const counts = await second.engine.stats()
    expect(counts).toMatchObject([{ status: 'completed', count: 10 }])
    const eleventh = await second.run(three, null)
    expect(eleventh.record.endedAt).toBe(eleventh.record.createdAt)
  })

  it('B005 never adopts a run that was just started in the same process', async () => {
    const { store, freeze, thaw } = freezable(memoryDatabase()())
    const test = await testEngine({ store, workflows: [three], lease: '3s' })
    for (let round = 0; round < 100; round += 1) {
      freeze()
      const starting = Promise.all(
        [1, 2].map((n) => test.engine.startWorkflow(three, null, { id: `${round}-${n}` })),
      )
      await test.time.advance(100)
      thaw()
      await test.until(starting)
      await test.advance('1s')
    }
    await test.runUntilIdle()
    expect(test.bodies).toHaveLength(600)
    expect((await test.engine.listRuns({ limit: 1000 })).runs.every(({ attempt }) => attempt === 1)).toBe(
      true,
    )
  })

  it('B002 begins only when the store is ready, and never fails a run that nobody can execute yet', async () => {
    const [time, open] = [new VirtualTime(), memoryDatabase()]
    const dead = await mortalEngine({ time, store: open(), workflows: [three], work: false })
    const { id } = await dead.engine.startWorkflow(three, null)
    const calls: string[] = []
    const opened = signal()
    const inner = open()
    const watched = dyingAt(inner, ({ method }) => calls.push(method) < 0, 'before')
    const slow = { ...watched, migrate: () => opened.promise.then(() => watched.migrate()) }
    const working = mortalEngine({ time, store: slow, workflows: [three], patience: 300 })
    await time.advance(MINUTE)
    expect(calls).toEqual([])
    opened.send()
    const test = await working
    expect(await test.until(test.engine.getHandle(id).result())).toEqual(['a', 'b', 'c'])
    await test.close()
  })

  it('B002 a worker without the workflow leaves its run due', async () => {
    const open = memoryDatabase()
    const time = new VirtualTime()
    const client = await testEngine({ time, store: open(), workflows: [three], work: false })
    const { id } = await client.engine.startWorkflow(three, null)
    const ignorant = await testEngine({ time, store: open(), workflows: [], seed: 'ignorant' })
    await ignorant.advance('1 day')
    expect(await client.engine.getRun(id)).toMatchObject({
      status: 'pending',
      attempt: 1,
      deaths: 0,
      fence: 0,
    })
    const able = await testEngine({ time, store: open(), workflows: [three], seed: 'able' })
    expect(await able.until(able.engine.getHandle(id).result())).toEqual(['a', 'b', 'c'])
  })
})
