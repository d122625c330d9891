import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { WorkflowFunction } from '../../src/engine/workflow.ts'
import type { Store } from '../../src/ports/store.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { createTestEngine, type TestEngine, type TestEngineOptions } from '../../src/testing/test-engine.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'

const define = (fn: WorkflowFunction<unknown, unknown>, version?: string) =>
  defineWorkflow({ name: 'deployed', ...(version !== undefined && { version }) }, fn)

const before = define(async ({ step }) => {
  await step.do('a', () => 'a')
  await step.sleep('pause', '1 day')
  return await step.do('b', () => 'b')
})

/** One store, one time, one process after the other. */
class Deploys {
  readonly time = new VirtualTime()
  readonly store: Store = memory()
  #count = 0

  async next(options: TestEngineOptions): Promise<TestEngine> {
    this.#count += 1
    const { time, store } = this
    return await createTestEngine({
      time,
      store,
      keepStoreOpen: true,
      seed: `process ${this.#count}`,
      ...options,
    })
  }

  /** Starts a run with the old code, ends that process, and goes on with the new. */
  async replace(next: TestEngineOptions): Promise<TestEngine> {
    const old = await this.next({ workflows: [before] })
    await old.engine.startWorkflow(before, null, { id: 'run' })
    await old.advance('1h')
    await old.close()
    const test = await this.next(next)
    await test.runUntilIdle()
    return test
  }
}

async function outcome(test: TestEngine) {
  const handle = test.engine.getHandle('run')
  const status = await handle.status()
  return status === 'completed' ? await test.until(handle.result()) : status
}

describe('new code under a running run', () => {
  it('goes on where the old code was if it is the same up to there', async () => {
    const after = define(async ({ step }) => {
      await step.do('a', () => 'a')
      await step.sleep('pause', '1 day')
      return await step.do('other', () => 'other')
    })
    expect(await outcome(await new Deploys().replace({ workflows: [after] }))).toBe('other')
  })

  it.each([
    ['asks for another kind', define(async ({ step }) => await step.sleep('a', 1))],
    ['asks for a child', define(async ({ step }) => await step.do('a', before, null))],
    ['ends early', define(() => 'done')],
    ['leaves a step out', define(async ({ step }) => await step.sleep('pause', '1 day'))],
    [
      'puts a step before',
      define(async ({ step }) => {
        await step.do('new', () => null)
        await step.do('a', () => 'a')
        await step.sleep('pause', '1 day')
      }),
    ],
  ])('pauses the run if it %s, and the old code can go on', async (_, after) => {
    const deploys = new Deploys()
    const wrong = await deploys.replace({ workflows: [after], patience: 1 })
    expect(await outcome(wrong)).toBe('paused')
    expect((await wrong.engine.getHandle('run').get()).error).toContain('NON_DETERMINISM')
    await wrong.close()
    const right = await deploys.next({ workflows: [before] })
    await right.engine.resume('run')
    await right.runUntilIdle()
    expect(await outcome(right)).toBe('b')
  })

  it('branches by a patch', async () => {
    const after = define(async ({ step }) => {
      if (step.patched('new')) await step.do('new', () => null)
      await step.do('a', () => 'a')
      await step.sleep('pause', '1 day')
      return [step.patched('newer'), await step.do('b', () => 'b')]
    })
    const test = await new Deploys().replace({ workflows: [after] })
    expect(await outcome(test)).toEqual([true, 'b'])
    expect((await test.run(after, null)).output).toEqual([true, 'b'])
    expect(test.bodies.map(({ key }) => key)).toEqual(['b', 'new', 'a', 'b'])
  })

  it('leaves runs of another version alone', async () => {
    const deploys = new Deploys()
    const newer = define(() => 'newer', '2')
    const test = await deploys.replace({ workflows: [newer] })
    expect(await outcome(test)).toBe('waiting')
    await test.close()
    const both = await deploys.next({ workflows: [before, newer] })
    await both.runUntilIdle()
    expect(await outcome(both)).toBe('b')
  })
})

describe('a worker', () => {
  const leaf = defineWorkflow({ name: 'leaf' }, async ({ step, input }) => await step.do('leaf', () => input))
  const branch = defineWorkflow({ name: 'branch' }, async ({ step, input }) => {
    return await Promise.all([1, 2, 3].map((n) => step.do('leaf', leaf, `${input}${n}`)))
  })
  const tree = defineWorkflow({ name: 'tree' }, async ({ step }) => {
    return await Promise.all(['a', 'b'].map((name) => step.do('branch', branch, name)))
  })

  it.each([1, 2, 100])('with room for %i runs executes a tree of runs', async (concurrency) => {
    const test = await createTestEngine({ workflows: [tree, branch, leaf], work: { concurrency } })
    expect((await test.run(tree, null)).output).toEqual([
      ['a1', 'a2', 'a3'],
      ['b1', 'b2', 'b3'],
    ])
    expect(test.bodies).toHaveLength(6)
    await test.close()
  })

  it('executes a thousand runs at once', async () => {
    const test = await createTestEngine({ workflows: [leaf], work: { concurrency: 700 } })
    const starting = Array.from({ length: 1000 }, (_, index) => test.engine.startWorkflow(leaf, index))
    const handles = await test.until(Promise.all(starting))
    const results = await test.until(Promise.all(handles.map((handle) => handle.result())))
    expect(results).toEqual(handles.map((_, index) => index))
    expect(test.bodies).toHaveLength(1000)
    await test.close()
  })

  it('hands its runs back when it is closed, also from the middle of a body', async () => {
    const deploys = new Deploys()
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const gated = defineWorkflow({ name: 'gated' }, async ({ step }) => {
      await step.do('first', () => gate)
      return await step.do('second', () => 'done')
    })
    const first = await deploys.next({ workflows: [gated], patience: 1 })
    const handle = await first.engine.startWorkflow(gated, null)
    await first.runUntilIdle()
    const closing = first.engine.close()
    open()
    await closing
    const second = await deploys.next({ workflows: [gated] })
    expect(await second.until(second.engine.getHandle(handle.id).result())).toBe('done')
    expect(first.bodies.map(({ key }) => key)).toEqual(['first'])
    expect(second.bodies.map(({ key }) => key)).toEqual(['second'])
  })

  it('hands a run back whose body does not end within the grace', async () => {
    const deploys = new Deploys()
    let calls = 0
    const hangs = defineWorkflow({ name: 'hangs' }, async ({ step }) => {
      return await step.do('hang', () => {
        calls += 1
        return calls === 1 ? new Promise(() => {}) : calls
      })
    })
    const first = await deploys.next({ workflows: [hangs], patience: 1 })
    const handle = await first.engine.startWorkflow(hangs, null)
    await first.runUntilIdle()
    await first.close()
    const second = await deploys.next({ workflows: [hangs] })
    expect(await second.until(second.engine.getHandle(handle.id).result())).toBe(2)
    expect((await second.engine.getHandle(handle.id).get()).deaths).toBe(0)
  })
})

describe('a fork', () => {
  it('goes on from before a step, without doing again what came before', async () => {
    const test = await createTestEngine({ workflows: [before] })
    const { handle } = await test.run(before, null, { id: 'original' })
    const fork = await test.until(test.engine.fork(handle.id, { before: 'b' }))
    await test.runUntilIdle()
    expect(await test.until(fork.result())).toBe('b')
    expect(test.bodies.map(({ runId, key }) => [runId === fork.id, key])).toEqual([
      [false, 'a'],
      [false, 'b'],
      [true, 'b'],
    ])
    await test.close()
  })
})

describe('two workers of one store', () => {
  it('share the work, and each body is called once', async () => {
    const [time, store] = [new VirtualTime(), memory()]
    const steps = defineWorkflow({ name: 'steps' }, async ({ step, input }) => {
      for (let round = 0; round < 3; round += 1) {
        await step.do('work', () => null)
        await step.sleep('pause', '1h')
      }
      return input
    })
    const shared = { workflows: [steps], time, store, keepStoreOpen: true, work: { concurrency: 3 } }
    const a = await createTestEngine({ ...shared, seed: 'a' })
    const b = await createTestEngine({ ...shared, seed: 'b' })
    const handles = []
    for (let n = 0; n < 10; n += 1) handles.push(await a.engine.startWorkflow(steps, n))
    await a.runUntilIdle()
    const results = await a.until(Promise.all(handles.map((handle) => handle.result())))
    expect(results).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(a.bodies.length + b.bodies.length).toBe(30)
    expect(b.bodies.length).toBeGreaterThan(0)
  })
})
