import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { Step, WorkflowContext } from '../../src/engine/workflow.ts'
import { MemoryData, memory } from '../../src/stores/memory/index.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'
import { called, codeOf, failing, messageOf, mortalEngine, testEngine } from './kit.ts'

type Code = (context: WorkflowContext<unknown>) => Promise<unknown>

/** Starts a run with `before`, and lets a process go on that has `after`. */
async function deploy(before: Code, after: Code, versions: readonly [string, string] = ['1', '1']) {
  const [time, data] = [new VirtualTime(), new MemoryData()]
  const old = defineWorkflow({ name: 'w', version: versions[0] }, before)
  const first = await mortalEngine({ time, store: memory({ data }), workflows: [old] })
  const { id } = await first.engine.startWorkflow(old, null)
  await first.advance('1m')
  await first.close()
  const next = defineWorkflow({ name: 'w', version: versions[1] }, after)
  const second = await testEngine({ time, store: memory({ data }), workflows: [next] })
  await second.advance('12h')
  return { test: second, handle: second.engine.getHandle(id), time, data }
}

const original: Code = async ({ step }) => {
  const a = await step.do('a', () => 'a')
  await step.sleep('nap', '1h')
  return [a, await step.do('b', () => 'b')]
}

describe('code that changed under a running run', () => {
  const changes: Readonly<Record<string, Code>> = {
    'another kind of step': async ({ step }) => step.sleep('a', '1s'),
    'another name': async ({ step }) => [await step.do('renamed', () => 'x'), await step.sleep('nap', '1h')],
    'another order': async ({ step }) => [await step.sleep('nap', '1h'), await step.do('a', () => 'a')],
    'a step less': async () => 'nothing left to do',
    'another target': async ({ step }) => step.do('a', 'remote'),
  }

  it.each(Object.entries(changes))('X23 by %s pauses the run, and says what differs', async (_, after) => {
    const { handle, test } = await deploy(original, after)
    const { run } = await handle.history()
    expect(run).toMatchObject({ status: 'paused', output: null })
    const paused = run.error ?? ''
    expect(paused).toContain('NON_DETERMINISM')
    expect(paused).toContain('\\"a\\"')
    expect(called(test)).toEqual([])
  })

  it('X23 is mended by the old code and a resume', async () => {
    const { handle, time, data } = await deploy(original, async () => 'wrong')
    const mended = defineWorkflow({ name: 'w', version: '1' }, original)
    const third = await testEngine({ time, store: memory({ data }), workflows: [mended], seed: 'third' })
    await third.engine.resume(handle.id)
    expect(await third.until(third.engine.getHandle(handle.id).result())).toEqual(['a', 'b'])
    expect(called(third)).toEqual(['b 1'])
  })

  it('X23 behind step.patched goes the old way in old runs, the new way in new ones', async () => {
    const patched: Code = async (context) => {
      const { step } = context
      const a = await step.do('a', () => 'a')
      if (step.patched('faster')) return [a, 'new']
      await step.sleep('nap', '1h')
      return [a, await step.do('b', () => 'b')]
    }
    const { handle, test } = await deploy(original, patched)
    expect(await test.until(handle.result())).toEqual(['a', 'b'])
    expect((await test.run('w')).output).toEqual(['a', 'new'])
  })

  it('B151 beside the run does not strand it', async () => {
    const comment: Code = async (context) => {
      const unrelated = 'an edit that changes nothing'
      const result = await original(context)
      return [...(result as unknown[]), unrelated.length]
    }
    const { handle, test } = await deploy(original, comment)
    expect(await test.until(handle.result())).toEqual(['a', 'b', 28])
  })

  it('B151 with another version leaves the run due and unharmed for workers that have its own', async () => {
    const { handle, time, data } = await deploy(original, async () => 'version 2', ['1', '2'])
    expect(await handle.get()).toMatchObject({ status: 'waiting', version: '1', deaths: 0, error: null })
    const one = defineWorkflow({ name: 'w', version: '1' }, original)
    const third = await testEngine({ time, store: memory({ data }), workflows: [one], seed: 'third' })
    expect(await third.until(third.engine.getHandle(handle.id).result())).toEqual(['a', 'b'])
  })

  it('B154 and a revive do again what had failed, and only that', async () => {
    const flow =
      (b: () => string): Code =>
      async ({ step }) => [
        await step.do('a', () => 'a'),
        await step.do('b', b),
        await step.do('c', () => 'c'),
      ]
    const { handle, test } = await deploy(
      flow(failing(new Error('the bug'))),
      flow(() => 'fixed'),
    )
    expect(await handle.status()).toBe('failed')
    await test.engine.revive(handle.id)
    expect(await test.until(handle.result())).toEqual(['a', 'fixed', 'c'])
    expect(called(test)).toEqual(['b 1', 'c 1'])
  })
})

describe('steps', () => {
  it.each([1000, 0])(
    'X14 with the same name have results of their own, with %i hot runs',
    async (hotRuns) => {
      const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
        const first = await step.do('n', () => 1)
        await step.sleep('nap', '1s')
        const [second, third] = await Promise.all([step.do('n', () => 2), step.do('n', () => 3)])
        await step.sleep('nap', '1s')
        return [first, second, third, await step.do('n#2', () => 4)]
      })
      const test = await testEngine({ workflows: [workflow], hotRuns })
      expect((await test.run(workflow, null)).output).toEqual([1, 2, 3, 4])
    },
  )

  const child = defineWorkflow({ name: 'child' }, () => 1)
  const nested: Readonly<Record<string, (step: Step) => unknown>> = {
    do: (step) => step.do('inner', () => 1),
    'a function': (step) => step.do('inner', 'fn'),
    'a child': (step) => step.do('inner', child, null),
    sleep: (step) => step.sleep('inner', '1s'),
    sleepUntil: (step) => step.sleepUntil('inner', 1),
    waitForEvent: (step) => step.waitForEvent('inner'),
    map: (step) => step.map('inner', [1], () => 1),
    now: (step) => step.now(),
    random: (step) => step.random(),
    uuid: (step) => step.uuid(),
    patched: (step) => step.patched('inner'),
  }

  it.each(Object.entries(nested))(
    'X20 refuse %s inside a body, by an error that names both',
    async (_, use) => {
      const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
        const error = await step.do('outer', async () => await use(step)).catch((caught: unknown) => caught)
        return [error, await step.do('after', () => 'after')]
      })
      const test = await testEngine({ workflows: [workflow, child], functions: { fn: () => 1 } })
      const { status, output } = await test.run(workflow, null)
      const [error, after] = output as unknown[]
      expect([status, codeOf(error), after]).toEqual(['completed', 'NESTED_STEP', 'after'])
      expect(messageOf(error)).toMatch(/"outer"/)
    },
  )

  it('X25 read the journal once per replay, however many there are', async () => {
    for (const hotRuns of [1000, 0]) {
      const reads: number[] = []
      const store = wrapStore(memory(), async (method, call) => {
        if (method === 'journal') reads.push(1)
        return await call()
      })
      const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
        for (let round = 0; round < 5; round += 1) {
          for (let index = 0; index < 100; index += 1) await step.do('s', () => index)
          await step.sleep('nap', '1m')
        }
      })
      const test = await testEngine({ store, workflows: [workflow], hotRuns })
      expect((await test.run(workflow, null)).status).toBe('completed')
      expect(test.bodies).toHaveLength(500)
      expect(reads).toHaveLength(hotRuns === 0 ? 5 : 0)
    }
  })
})

describe('what a message names', () => {
  it.each(['constructor', '__proto__', 'toString', 'missing'])(
    'X24 is executed only if it is registered: %s',
    async (name) => {
      let ran = false
      const workflow = defineWorkflow({ name: 'w' }, ({ step }) => step.do('call', name, 'data'))
      const test = await testEngine({ workflows: [workflow], functions: { allowed: () => (ran = true) } })
      expect(codeOf(await test.engine.startWorkflow(name).catch((error: unknown) => error))).toBe(
        'UNKNOWN_WORKFLOW',
      )
      const { status, handle } = await test.run(workflow, null)
      expect(status).toBe('waiting')
      const { runs } = await test.engine.listRuns({ parentId: handle.id })
      expect(runs).toMatchObject([{ workflow: name, status: 'pending', fence: 0 }])
      expect(ran).toBe(false)
    },
  )

  it('X24 is not given data that its schema refuses, even if the store holds it', async () => {
    const positive = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) =>
          Number(value) > 0 ? { value: Number(value) } : { issues: [{ message: 'must be > 0' }] },
      },
    }
    const inputs: number[] = []
    const pay = defineWorkflow(
      { name: 'pay', input: positive },
      ({ input }) => void inputs.push(Number(input)),
    )
    const store = memory()
    const test = await testEngine({ store, workflows: [pay], work: false })
    const { id } = await test.engine.startWorkflow(pay, 5)
    const tampered = wrapStore(store, async (method, call) => {
      const result = await call()
      if (method !== 'claim') return result
      return (result as { input: string }[]).map((run) => ({ ...run, input: '[-5]' })) as typeof result
    })
    const forged = wrapStore(tampered, async (method, call) => {
      const result = await call()
      if (method !== 'journal') return result
      const journals = result as { run: { input: string } | null }[]
      return journals.map((j) => ({
        ...j,
        run: j.run === null ? null : { ...j.run, input: '[-5]' },
      })) as typeof result
    })
    const worker = await testEngine({
      store: forged,
      workflows: [pay],
      time: test.time,
      seed: 'worker',
      keepStoreOpen: true,
    })
    await worker.advance('1m')
    expect(inputs).toEqual([])
    const run = await test.engine.getRun(id)
    expect(run?.status).toBe('paused')
    expect(run?.error).toContain('INVALID_INPUT')
  })
})
