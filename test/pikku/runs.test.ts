/** Runs: their lock, their end, and what operators ask of them. */
import type { PikkuWorkflowWire, WorkflowRun } from '@pikku/core/workflow'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import type { PerdureServices, PerdureWorkflowService } from '../../src/pikku/index.ts'
import { signal } from '../parity/kit.ts'
import { forEachStore } from '../parity/stores.ts'
import { until } from '../processes/kit.ts'
import { application, caller, rpc, serviceOn, workflow } from './kit.ts'

/** How often Pikku attempts a step that says nothing about it, within a tick. */
const DEFAULT_ATTEMPTS = 5

async function newRun(service: PerdureWorkflowService): Promise<string> {
  return await service.createRun('flow', { n: 1 }, false, 'hash', { type: 'test' })
}

async function start(
  { workflowService }: PerdureServices,
  name: string,
  input: unknown = {},
): Promise<string> {
  return (await workflowService.startWorkflow(name, input, { type: 'test' }, caller())).runId
}

async function end({ workflowService }: PerdureServices, runId: string): Promise<WorkflowRun> {
  return await until('the run has ended', async () => {
    const run = await workflowService.getRun(runId)
    return run?.status === 'running' ? null : run
  })
}

forEachStore((database) => {
  describe('the lock of a run', () => {
    it('is had by one at a time; the others wait, and all get it', async () => {
      const open = database()
      const services = [serviceOn(open()), serviceOn(open()), serviceOn(open())]
      const runId = await newRun(services[0] ?? serviceOn(open()))
      let inside = 0
      let most = 0
      let total = 0
      const use = async (): Promise<void> => {
        inside += 1
        most = Math.max(most, inside)
        await new Promise<void>((resolve) => setImmediate(resolve))
        inside -= 1
        total += 1
      }
      const users = [...services, ...services].map((service) => service.withRunLock(runId, use))
      await Promise.all(users)
      await Promise.all(services.map((service) => service.withStepLock(runId, 'a step', use)))
      expect({ most, total }).toEqual({ most: 1, total: 9 })
    })

    it('is free again when its holder is gone', async () => {
      const open = database()
      const [one, two] = [serviceOn(open()), serviceOn(open())]
      const runId = await newRun(one)
      const inside = signal()
      void one.withRunLock(runId, async () => {
        inside.send()
        await new Promise(() => {})
      })
      const locked = signal()
      void one.withStepLock(runId, 'a step', async () => {
        locked.send()
        await new Promise(() => {})
      })
      await Promise.all([inside.promise, locked.promise])
      await one.close()
      expect(await two.withRunLock(runId, async () => 'run')).toBe('run')
      expect(await two.withStepLock(runId, 'a step', async () => 'step')).toBe('step')
    })
  })

  describe('the end of a run', () => {
    it('is that of its record, and of those of its steps', async () => {
      const open = database()
      const store = open()
      const service = serviceOn(store)
      const runId = await newRun(service)
      const done = await service.insertStepState(runId, 'done', null, {})
      await service.setStepResult(done.stepId, 1)
      const failed = await service.insertStepState(runId, 'failed', null, {})
      await service.setStepError(failed.stepId, new Error('no'))
      await service.insertStepState(runId, 'left', null, {})
      await service.updateRunStatus(runId, 'failed', undefined, { message: 'no' })
      expect(await store.getRun(runId)).toMatchObject({ status: 'failed', owner: null })
      const { runs } = await store.listRuns({ parentId: runId, limit: 10 })
      expect(runs.map(({ status }) => status).sort()).toEqual(['cancelled', 'completed', 'failed'])
      expect(runs.every(({ expiresAt }) => expiresAt !== null)).toBe(true)
    })

    it('stays, but one that was no success may be set back', async () => {
      const open = database()
      const store = open()
      const service = serviceOn(store)
      const runId = await newRun(service)
      const step = await service.insertStepState(runId, 'step', null, {})
      await service.updateRunStatus(runId, 'failed', undefined, { message: 'no' })
      await service.updateRunStatus(runId, 'completed', 'too late')
      expect(await service.getRun(runId)).toMatchObject({ status: 'failed', error: { message: 'no' } })
      await service.updateRunStatus(runId, 'running')
      expect((await service.getRun(runId))?.error).toBeUndefined()
      await service.setStepResult(step.stepId, 2)
      await service.updateRunStatus(runId, 'completed', 'at last')
      await service.updateRunStatus(runId, 'running')
      expect(await service.getRun(runId)).toMatchObject({ status: 'completed', output: 'at last' })
      expect((await service.getStepState(runId, 'step')).result).toBe(2)
      expect((await store.getRun(runId))?.status).toBe('completed')
    })

    it('is not undone by a tick that comes later', async () => {
      const open = database()
      const app = await application(open(), { work: false })
      let calls = 0
      workflow('counted', async () => {
        calls += 1
        return calls
      })
      const runId = await start(app, 'counted')
      await app.workflowService.updateRunStatus(runId, 'cancelled')
      await app.workflowService.orchestrateWorkflow(runId, caller())
      expect(calls).toBe(0)
      expect((await app.workflowService.getRun(runId))?.status).toBe('cancelled')
    })

    it('comes by an operator too', async () => {
      const open = database()
      const app = await application(open(), { work: false })
      workflow('cancelled', async () => 1)
      const runId = await start(app, 'cancelled')
      await app.queueService.engine.cancel(runId, 'not needed')
      await app.workflowService.orchestrateWorkflow(runId, caller())
      const run = await app.workflowService.getRun(runId)
      expect(run).toMatchObject({ status: 'cancelled', error: { message: 'not needed' } })
    })
  })

  it('deletes a run with its steps', async () => {
    const open = database()
    const store = open()
    const service = serviceOn(store)
    const runId = await newRun(service)
    await service.insertStepState(runId, 'step', null, {})
    expect(await service.deleteRun(runId)).toBe(true)
    expect(await service.getRun(runId)).toBeNull()
    expect(await service.getRunHistory(runId)).toEqual([])
    expect(await service.deleteRun(runId)).toBe(false)
  })

  it('lists runs by workflow and status', async () => {
    const open = database()
    const service = serviceOn(open())
    const ids = [await newRun(service), await newRun(service), await newRun(service)]
    await service.createRun('other', {}, false, 'hash', { type: 'test' })
    await service.updateRunStatus(ids[1] ?? '', 'completed')
    expect(await service.listRuns()).toHaveLength(4)
    expect(await service.listRuns({ workflowName: 'flow' })).toHaveLength(3)
    expect(await service.listRuns({ workflowName: 'flow', status: 'completed' })).toHaveLength(1)
    expect(await service.listRuns({ workflowName: 'flow', limit: 1, offset: 1 })).toHaveLength(1)
    expect(new Set(await service.getDistinctWorkflowNames())).toEqual(new Set(['flow', 'other']))
  })

  it('does not begin a step again that a branch left running when another one paused the run', async () => {
    const open = database()
    const app = await application(open(), { lease: 600 })
    const [begun, go] = [signal(), signal()]
    let calls = 0
    rpc('queued', () => 'queued', { workflowQueued: true })
    workflow('branches', async (flow: PikkuWorkflowWire) => {
      return await Promise.all([
        flow.do('slow', async () => {
          calls += 1
          begun.send()
          await go.promise
          return 'slow'
        }),
        flow.do('queued', 'queued', {}),
      ])
    })
    const runId = await start(app, 'branches')
    await begun.promise
    await until('the other branch is done and its tick was there', async () => {
      const step = await app.workflowService.getStepState(runId, 'queued').catch(() => null)
      const { runs } = await app.queueService.engine.listRuns({ queue: 'pikku-workflow-orchestrator' })
      return step?.status === 'succeeded' && runs.filter(({ status }) => status === 'completed').length > 1
    })
    go.send()
    expect(await end(app, runId)).toMatchObject({ status: 'completed', output: ['slow', 'queued'] })
    expect(calls).toBe(1)
  })

  it('waits for the further attempts of a step while another branch goes on', async () => {
    const open = database()
    const app = await application(open(), { lease: 600 })
    let attempts = 0
    rpc(
      'flaky',
      () => {
        attempts += 1
        if (attempts < 3) throw new Error('not yet')
        return attempts
      },
      { workflowQueued: true },
    )
    rpc('quick', () => 'quick', { workflowQueued: true })
    workflow('two', async (flow: PikkuWorkflowWire) => {
      return await Promise.all([
        flow.do('flaky', 'flaky', {}, { retries: 3, retryDelay: 100 }),
        flow.do('quick', 'quick', {}),
      ])
    })
    const runId = await start(app, 'two')
    expect(await end(app, runId)).toMatchObject({ status: 'completed' })
    expect(attempts).toBe(3)
  })

  it('runs a workflow as a step of another', async () => {
    const open = database()
    const app = await application(open())
    workflow('inner', async (flow: PikkuWorkflowWire, { n }: { n: number }) => {
      return await flow.do('double', async () => n * 2)
    })
    workflow('outer', async (flow: PikkuWorkflowWire) => {
      const [one, two] = await Promise.all([
        flow.do('one', 'inner', { n: 1 }),
        flow.do('two', 'inner', { n: 1 }),
      ])
      return [one, two]
    })
    const runId = await start(app, 'outer')
    expect(await end(app, runId)).toMatchObject({ status: 'completed', output: [2, 2] })
    expect(await app.workflowService.listRuns({ workflowName: 'inner' })).toHaveLength(2)
  })

  it('fails with the error of its function, and its steps are not attempted again by retries of its tick', async () => {
    const open = database()
    const app = await application(open())
    let calls = 0
    workflow('broken', async (flow: PikkuWorkflowWire) => {
      await flow.do('fail', async () => {
        calls += 1
        throw new Error('broken')
      })
    })
    const { workflowService } = app
    const runId = await start(app, 'broken')
    expect(await end(app, runId)).toMatchObject({ status: 'failed', error: { message: 'broken' } })
    await until('its job is over', async () => {
      const { runs } = await app.queueService.engine.listRuns({ workflow: 'pikku:job' })
      return runs.every(({ status }) => status === 'completed' || status === 'failed')
    })
    expect(calls).toBe(DEFAULT_ATTEMPTS)
    expect((await workflowService.getRunStatus(runId))?.steps).toMatchObject([
      { name: 'fail', status: 'failed' },
    ])
  })

  it('suspends until a gate is approved', async () => {
    const open = database()
    const app = await application(open())
    const schema = v.object({ yes: v.boolean() })
    workflow('gated', async (flow: PikkuWorkflowWire) => await flow.approval('ship it?', { schema }))
    const runId = await start(app, 'gated')
    expect((await end(app, runId)).status).toBe('suspended')
    await app.workflowService.approveStep(runId, 'ship it?', { yes: true })
    await until(
      'it is completed',
      async () => (await app.workflowService.getRun(runId))?.status === 'completed',
    )
    expect((await app.workflowService.getRun(runId))?.output).toMatchObject({
      status: 'decided',
      data: { yes: true },
    })
  })
})
