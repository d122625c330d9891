import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { badCounts, badDurations, badNames, contents, engineFor, rejection, untyped } from './fixture.ts'

const work = defineWorkflow({ name: 'work' }, ({ step }) => step.waitForEvent('go'))

async function waiting() {
  const test = await engineFor({ workflows: [work] })
  const { id } = await test.engine.startWorkflow(work, null)
  await test.runUntilIdle()
  const before = await contents(test.store)
  const refused = async (call: () => Promise<unknown>) => {
    const code = await rejection(call)
    await test.runUntilIdle()
    expect(await contents(test.store)).toEqual(before)
    return code
  }
  return { engine: test.engine, id, refused }
}

describe('a request about a run is refused, and changes nothing, for', () => {
  it.each(badNames)('a run id that is %s', async (_, bad) => {
    const { engine, refused } = await waiting()
    const id = untyped<string>(bad)
    expect(await refused(() => engine.sendEvent(id, 'go'))).toBe('INVALID_NAME')
    for (const verb of ['cancel', 'pause', 'resume', 'revive', 'wake', 'deleteRun'] as const) {
      expect([verb, await refused(() => engine[verb](id))]).toEqual([verb, 'INVALID_NAME'])
    }
    expect(await refused(() => engine.fork(id))).toMatch(/INVALID_NAME|RUN_NOT_FOUND/)
  })

  it('a run that does not exist', async () => {
    const { engine, refused } = await waiting()
    expect(await refused(() => engine.sendEvent('none', 'go'))).toBe('RUN_NOT_FOUND')
    for (const verb of ['cancel', 'pause', 'resume', 'revive', 'wake', 'deleteRun'] as const) {
      expect([verb, await refused(() => engine[verb]('none'))]).toEqual([verb, 'RUN_NOT_FOUND'])
    }
    expect(await refused(() => engine.fork('none'))).toBe('RUN_NOT_FOUND')
    const handle = engine.getHandle('none')
    for (const verb of ['status', 'get', 'history', 'cancel', 'pause', 'resume', 'result'] as const) {
      expect([verb, await refused(() => handle[verb]())]).toEqual([verb, 'RUN_NOT_FOUND'])
    }
    expect(await engine.getRun('none')).toBe(null)
  })

  it('a run whose state does not allow it', async () => {
    const { engine, id, refused } = await waiting()
    expect(await refused(() => engine.revive(id))).toBe('RUN_STATE')
    expect(await refused(() => engine.deleteRun(id))).toBe('RUN_STATE')
    expect(await refused(() => engine.resume(id))).toBe('RUN_STATE')
  })

  it.each(badNames)('an event whose name or id is %s', async (_, bad) => {
    const { engine, id, refused } = await waiting()
    expect(await refused(() => engine.sendEvent(id, untyped<string>(bad)))).toBe('INVALID_NAME')
    const send = () => engine.sendEvent(id, 'go', 1, { id: untyped<string>(bad) })
    expect(await refused(send)).toBe('INVALID_NAME')
  })

  it.each([7, null, {}])('a cancel whose reason is %j', async (reason) => {
    const { engine, id, refused } = await waiting()
    expect(await refused(() => engine.cancel(id, untyped<string>(reason)))).toBe('INVALID_ARGUMENT')
    const cancel = () => engine.getHandle(id).cancel(untyped<string>(reason))
    expect(await refused(cancel)).toBe('INVALID_ARGUMENT')
  })

  it.each(badNames)('a fork whose new id is %s', async (_, bad) => {
    const { engine, id, refused } = await waiting()
    expect(await refused(() => engine.fork(id, { id: untyped<string>(bad) }))).toBe('INVALID_NAME')
  })

  it('a fork before a step that the run does not have', async () => {
    const { engine, id, refused } = await waiting()
    expect(await refused(() => engine.fork(id, { before: 'nope' }))).toBe('INVALID_ARGUMENT')
  })

  it.each(badDurations)('a wait for a result that is %s', async (_, bad) => {
    const { engine, id, refused } = await waiting()
    const wait = () => engine.getHandle(id).result({ timeout: untyped<number>(bad) })
    expect(await refused(wait)).toBe('INVALID_DURATION')
  })

  it.each(badCounts)('a list of as many runs as %s', async (_, bad) => {
    const { engine, refused } = await waiting()
    expect(await refused(() => engine.listRuns({ limit: untyped<number>(bad) }))).toBe('INVALID_ARGUMENT')
  })

  it.each(['', 'garbage', '{}', '[1]', 7])('a list from the cursor %j', async (cursor) => {
    const { engine, refused } = await waiting()
    const list = () => engine.listRuns({ cursor: untyped<string>(cursor) })
    expect(await refused(list)).toBe('INVALID_ARGUMENT')
  })
})

describe('work refuses', () => {
  const idle = () => engineFor({ store: memory(), workflows: [work], work: false })

  it.each(badCounts)('a concurrency that is %s', async (_, bad) => {
    const { engine } = await idle()
    expect(await rejection(() => engine.work({ concurrency: untyped<number>(bad) }))).toBe('INVALID_ARGUMENT')
  })

  it.each(badNames)('a queue that is %s', async (_, bad) => {
    const { engine } = await idle()
    expect(await rejection(() => engine.work({ queues: [untyped<string>(bad)] }))).toBe('INVALID_NAME')
  })

  it.each(['default', null, {}])('queues that are %j', async (queues) => {
    const { engine } = await idle()
    const begin = () => engine.work({ queues: untyped<string[]>(queues) })
    expect(await rejection(begin)).toBe('INVALID_ARGUMENT')
  })

  it('no queue at all: such a worker would never do anything', async () => {
    const { engine } = await idle()
    expect(await rejection(() => engine.work({ queues: [] }))).toBe('INVALID_ARGUMENT')
  })

  it('a second call, and goes on with the first', async () => {
    const test = await idle()
    await test.engine.work()
    expect(await rejection(() => test.engine.work())).toBe('INVALID_ARGUMENT')
    expect((await test.run(work, null)).status).toBe('waiting')
  })
})

describe('close rejects, and closes nothing, for', () => {
  it.each(badDurations)('a timeout that is %s', async (_, bad) => {
    const { engine, id, refused } = await waiting()
    expect(await refused(() => engine.close({ timeout: untyped<number>(bad) }))).toBe('INVALID_DURATION')
    expect(await engine.getHandle(id).status()).toBe('waiting')
  })
})
