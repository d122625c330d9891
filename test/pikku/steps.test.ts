/** Who executes a step: one worker at a time, and never none for ever. */
import { describe, expect, it } from 'vitest'
import type { PerdureWorkflowService } from '../../src/pikku/index.ts'
import type { Store } from '../../src/ports/store.ts'
import { signal } from '../parity/kit.ts'
import { forEachStore } from '../parity/stores.ts'
import { until } from '../processes/kit.ts'
import { application, caller, rpc, serviceOn, setServices } from './kit.ts'

const ROUNDS = 20

async function newRun(service: PerdureWorkflowService): Promise<string> {
  return await service.createRun('flow', {}, false, 'hash', { type: 'test' })
}

/** A step of this function, as a run has dispatched it. */
async function newStep(service: PerdureWorkflowService, rpcName: string, retries = 0): Promise<string> {
  const runId = await newRun(service)
  await service.insertStepState(runId, 'step', rpcName, {}, { retries })
  return runId
}

/** An application that keeps jobs and executes none, and the jobs that it was given. */
async function idle(store: Store): Promise<{ jobs: (queue: string) => Promise<number> }> {
  await application(store, { work: false })
  return {
    jobs: async (queue) => {
      const { runs } = await store.listRuns({ workflow: 'pikku:job', queue, limit: 1000 })
      return runs.length
    },
  }
}

const ticks = 'pikku-workflow-orchestrator'
const stepJobs = 'pikku-workflow-step-worker'

forEachStore((database) => {
  describe('a step job that two workers have got', () => {
    it('is executed by one of them', async () => {
      const open = database()
      await idle(open())
      const [one, two] = [serviceOn(open()), serviceOn(open())]
      const calls: string[] = []
      rpc('once', (_, { workflowStep }) => calls.push(workflowStep?.stepId ?? ''))
      for (let round = 0; round < ROUNDS; round += 1) {
        const runId = await newStep(one, 'once')
        const executions = [one, two, one, two].map((service) =>
          service.executeWorkflowStep(runId, 'step', 'once', {}, caller()),
        )
        await Promise.all(executions)
        expect((await one.getStepState(runId, 'step')).status).toBe('succeeded')
      }
      expect(new Set(calls).size).toBe(ROUNDS)
      expect(calls).toHaveLength(ROUNDS)
    })

    it('comes again later to the one that does not execute it', async () => {
      const open = database()
      const { jobs } = await idle(open())
      const [one, two] = [serviceOn(open()), serviceOn(open())]
      const [begun, go] = [signal(), signal()]
      rpc('slow', async () => {
        begun.send()
        await go.promise
      })
      const runId = await newStep(one, 'slow')
      const execution = one.executeWorkflowStep(runId, 'step', 'slow', {}, caller())
      await begun.promise
      await two.executeWorkflowStep(runId, 'step', 'slow', {}, caller())
      expect(await jobs(stepJobs)).toBe(1)
      go.send()
      await execution
    })
  })

  describe('a step whose worker is gone', () => {
    it('is executed by another, and what the first one still says is refused', async () => {
      const open = database()
      await idle(open())
      const [one, two] = [serviceOn(open()), serviceOn(open())]
      const [begun, go] = [signal(), signal()]
      const calls: number[] = []
      rpc('slow', async () => {
        const call = calls.push(calls.length)
        begun.send()
        if (call === 1) await go.promise
        return call
      })
      const runId = await newStep(one, 'slow')
      const execution = one.executeWorkflowStep(runId, 'step', 'slow', {}, caller())
      await begun.promise
      await one.close()
      await two.executeWorkflowStep(runId, 'step', 'slow', {}, caller())
      expect(await two.getStepState(runId, 'step')).toMatchObject({ status: 'succeeded', result: 2 })
      go.send()
      await execution
      expect(await two.getStepState(runId, 'step')).toMatchObject({ status: 'succeeded', result: 2 })
      expect(calls).toHaveLength(2)
    })

    it('is found by the recovery, which also finds steps that were never dispatched', async () => {
      const open = database()
      const { jobs } = await idle(open())
      const [one, two] = [serviceOn(open()), serviceOn(open())]
      const lost = await newStep(one, 'nothing')
      await newStep(one, 'nothing')
      const held = await newStep(one, 'nothing')
      await one.setStepRunning((await one.getStepState(lost, 'step')).stepId)
      await two.setStepRunning((await two.getStepState(held, 'step')).stepId)
      await one.close()
      const { redispatched } = await two.relayUndispatchedSteps({ undispatchedAfterMs: -1000 })
      expect(redispatched).toHaveLength(2)
      expect(redispatched).not.toContain(held)
      const { resumed } = await two.recoverStalledRuns({ stalledAfterMs: -1000 })
      expect(new Set(resumed)).toEqual(new Set(redispatched))
      expect(await jobs(ticks)).toBe(4)
      expect((await two.getStepState(lost, 'step')).status).toBe('pending')
    })
  })

  describe('a step job that is delivered again', () => {
    it('tells the run once more that the step is done', async () => {
      const open = database()
      const { jobs } = await idle(open())
      const service = serviceOn(open())
      let calls = 0
      rpc('counted', () => {
        calls += 1
      })
      const runId = await newStep(service, 'counted')
      await service.executeWorkflowStep(runId, 'step', 'counted', {}, caller())
      await service.executeWorkflowStep(runId, 'step', 'counted', {}, caller())
      expect(calls).toBe(1)
      expect(await jobs(ticks)).toBe(2)
    })

    it('is not attempted more often than the step says', async () => {
      const open = database()
      await idle(open())
      const service = serviceOn(open())
      let calls = 0
      rpc('failing', () => {
        calls += 1
        throw new Error(`failure ${calls}`)
      })
      const runId = await newStep(service, 'failing', 1)
      for (let delivery = 0; delivery < 4; delivery += 1) {
        await service.executeWorkflowStep(runId, 'step', 'failing', {}, caller()).catch(() => {})
      }
      expect(calls).toBe(2)
      const state = await service.getStepState(runId, 'step')
      expect(state).toMatchObject({ status: 'failed', attemptCount: 2, error: { message: 'failure 2' } })
    })

    it('finds the child run that it started', async () => {
      const open = database()
      await idle(open())
      const [one, two] = [serviceOn(open()), serviceOn(open())]
      const parent = await newRun(one)
      const { stepId } = await one.insertStepState(parent, 'step', 'child', {})
      const wire = { type: 'workflow', parentRunId: parent, parentStepId: stepId }
      const ids = await Promise.all(
        [one, two, one].map((service) => service.createRun('child', {}, false, 'h', wire)),
      )
      expect(new Set(ids).size).toBe(1)
    })
  })

  it('says of a step that it is scheduled only if its job was not faster', async () => {
    const open = database()
    const service = serviceOn(open())
    const runId = await newStep(service, 'x')
    const { stepId } = await service.getStepState(runId, 'step')
    await service.setStepRunning(stepId)
    await service.setStepScheduled(stepId)
    expect((await service.getStepState(runId, 'step')).status).toBe('running')
    await service.setStepResult(stepId, 1)
    await service.setStepScheduled(stepId)
    await service.setStepError(stepId, new Error('late'))
    expect(await service.getStepState(runId, 'step')).toMatchObject({ status: 'succeeded', result: 1 })
  })

  it('keeps values that JSON cannot', async () => {
    const open = database()
    const service = serviceOn(open())
    const runId = await newStep(service, 'x')
    const { stepId } = await service.getStepState(runId, 'step')
    const value = { at: new Date(5), big: 3n, map: new Map([[1, 2]]), nothing: undefined }
    await service.setStepResult(stepId, value)
    expect((await service.getStepState(runId, 'step')).result).toEqual(value)
  })
})

describe('a service of an application that is not set up', () => {
  it('can be made', async () => {
    const { memory } = await import('../../src/stores/memory/index.ts')
    setServices({})
    expect(await serviceOn(memory()).getRun('none')).toBeNull()
    await until('nothing', () => true)
  })
})
