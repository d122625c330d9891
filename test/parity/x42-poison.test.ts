import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import type { WorkflowContext } from '../../src/engine/workflow.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { engineFor, mortalEngine } from './runner-kit.ts'

describe('X42 work that kills its process', () => {
  it('without a retry schedule is abandoned after the allowed number of deaths in a row', async () => {
    const { starts, record } = await killing({}, 4)
    expect(starts).toBe(4)
    expect(record).toMatchObject({ status: 'failed', deaths: 4 })
    expect(record?.error).toMatch(/4 workers in a row died/)
  })

  it('with a retry schedule is abandoned after as many attempts as that allows', async () => {
    const { starts, record } = await killing({ retry: { schedule: ['1m', '1m'] } }, 10)
    expect(starts).toBe(3)
    expect(record).toMatchObject({ status: 'failed' })
  })

  it('can be revived once the reason is gone', async () => {
    const { engine, id, runUntilIdle, stopKilling } = await killing({}, 2)
    stopKilling()
    await engine.revive(id)
    await runUntilIdle()
    expect(await engine.getRun(id)).toMatchObject({ status: 'completed', attempt: 1, deaths: 0 })
  })

  it('does not keep others from their turn', async () => {
    const { engine, other } = await killing({}, 3)
    expect(await engine.getRun(other)).toMatchObject({ status: 'completed' })
  })

  it('makes no progress by saving what is saved already', async () => {
    const { starts } = await killing({}, 3, ({ run }) => run.save({ page: 1 }))
    expect(starts).toBe(3)
  })

  async function killing(
    retry: { readonly retry?: { readonly schedule: string[] } },
    maxDeaths: number,
    before: (context: WorkflowContext) => Promise<void> = async () => {},
  ) {
    const [store, time] = [memory(), new VirtualTime()]
    let starts = 0
    let lethal = true
    const kills = defineWorkflow({ name: 'kills', ...retry }, async (context) => {
      if (!lethal) return 'harmless'
      starts += 1
      await before(context)
      return await new Promise<string>(() => {})
    })
    const harmless = defineWorkflow({ name: 'harmless' }, () => 1)
    const options = { store, time, workflows: [kills, harmless], lease: '10s', maxDeaths }
    const client = await engineFor({ ...options, work: false, seed: 'client' })
    const { id } = await client.engine.startWorkflow(kills, null)
    const { id: other } = await client.engine.startWorkflow(harmless, null)
    for (let process = 1; process <= 10; process += 1) {
      const { test, die } = await mortalEngine({ ...options, seed: `process ${process}` })
      await test.advance('20s')
      die()
      if ((await client.engine.getRun(id))?.status === 'failed') break
    }
    const last = await engineFor({ ...options, seed: 'last' })
    return {
      engine: last.engine,
      runUntilIdle: () => last.runUntilIdle(),
      stopKilling: () => {
        lethal = false
      },
      id,
      other,
      starts,
      record: await client.engine.getRun(id),
    }
  }
})
