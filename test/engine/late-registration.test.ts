import { describe, expect, it } from 'vitest'
import { DuplicateWorkflowError, InvalidArgumentError, UnknownWorkflowError } from '../../src/core/errors.ts'
import { declareWorkflow, defineWorkflow } from '../../src/engine/define.ts'
import type { WorkflowContext } from '../../src/engine/workflow.ts'
import { engineFor, gate, mortalEngine, stores } from '../parity/runner-kit.ts'

const double = defineWorkflow({ name: 'double' }, ({ input }: WorkflowContext<number>) => input * 2)
const doubleElsewhere = declareWorkflow<number, number>({ name: 'double' })

describe('a workflow that is registered while the engine works', () => {
  it('has what is due of it executed at once, without waiting for a poll', async () => {
    const client = await engineFor({ workflows: [double], work: false })
    const handle = await client.engine.startWorkflow(double, 4)
    const worker = await engineFor({ store: client.store, time: client.time, seed: 'worker' })
    await worker.runUntilIdle()
    expect(await handle.status()).toBe('pending')
    worker.engine.register(double)
    await worker.runUntilIdle()
    expect(await worker.until(handle.result())).toBe(8)
  })

  it('is refused if its name is taken, or if it is none', async () => {
    const { engine } = await engineFor({ workflows: [double] })
    expect(() => engine.register(double)).toThrow(DuplicateWorkflowError)
    expect(() => engine.register({ name: 'x' } as never)).toThrow(InvalidArgumentError)
  })
})

describe('a workflow that is only declared', () => {
  it('can be started and waited for; the engine that has its function executes it', async () => {
    const client = await engineFor({ workflows: [doubleElsewhere] })
    const handle = await client.engine.startWorkflow(doubleElsewhere, 21)
    await client.runUntilIdle()
    expect(await handle.status()).toBe('pending')
    const options = { store: client.store, time: client.time, seed: 'worker' }
    const worker = await engineFor({ ...options, workflows: [double] })
    await worker.runUntilIdle()
    expect(await worker.until(handle.result())).toBe(42)
  })

  it('is executed here once its function is registered, and stays so when it is declared again', async () => {
    const { engine, runUntilIdle, until } = await working()
    const handle = await engine.startWorkflow(doubleElsewhere, 3)
    engine.register(double)
    await runUntilIdle()
    expect(await until(handle.result())).toBe(6)
    engine.register(doubleElsewhere)
    expect(await until((await engine.startWorkflow('double', 4)).result())).toBe(8)
  })

  it('runs as a child on the engine that has it', async () => {
    const parent = defineWorkflow({ name: 'parent' }, ({ step }) => step.do('twice', doubleElsewhere, 5))
    const first = await engineFor({ workflows: [parent, doubleElsewhere] })
    const handle = await first.engine.startWorkflow(parent, null)
    await first.runUntilIdle()
    const other = { store: first.store, time: first.time, seed: 'other', workflows: [double] }
    const second = await engineFor(other)
    await second.runUntilIdle()
    expect(await first.until(handle.result())).toBe(10)
  })

  it('must be known to be started by name', async () => {
    const { engine } = await engineFor({ workflows: [doubleElsewhere] })
    await expect(engine.startWorkflow('treble', 1)).rejects.toThrow(UnknownWorkflowError)
    expect((await engine.startWorkflow('double', 1)).created).toBe(true)
  })

  async function working() {
    const test = await engineFor({ workflows: [doubleElsewhere] })
    return {
      engine: test.engine,
      runUntilIdle: test.runUntilIdle.bind(test),
      until: test.until.bind(test),
    }
  }
})

describe.each(stores)('sweep, on %s:', (_, open) => {
  it('frees what a dead worker holds once its lease is over, not before, and says which runs', async () => {
    const store = await open()
    const begun = gate()
    const hangs = defineWorkflow({ name: 'hangs' }, () => {
      begun.open()
      return new Promise<never>(() => {})
    })
    const { test: first, die } = await mortalEngine({
      store,
      workflows: [hangs],
      lease: '10s',
      seed: 'first',
    })
    const { id } = await first.engine.startWorkflow(hangs, null)
    await begun.opened
    die()
    const client = await engineFor({ store, time: first.time, work: false, seed: 'client' })
    expect(await client.engine.sweep()).toEqual([])
    await client.advance('11s')
    expect(await client.engine.sweep()).toEqual([id])
    expect(await client.engine.sweep()).toEqual([])
    expect(await client.engine.getRun(id)).toMatchObject({ status: 'pending', attempt: 2 })
  })
})
