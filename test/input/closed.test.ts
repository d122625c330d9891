import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { EngineClosedError } from '../../src/core/errors.ts'
import type { Engine, RunHandle } from '../../src/engine/api.ts'
import { defineWorkflow } from '../../src/engine/define.ts'
import { createEngine } from '../../src/engine/engine.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { silentLog } from '../../src/testing/virtual-time.ts'
import { openStore, temporaryFolder } from '../sqlite/helpers.ts'
import { rejection } from './fixture.ts'

const work = defineWorkflow({ name: 'work' }, ({ step }) => step.waitForEvent('go'))

const engineCalls: Readonly<Record<string, (engine: Engine) => Promise<unknown>>> = {
  work: (engine) => engine.work(),
  startWorkflow: (engine) => engine.startWorkflow(work, 1),
  'startWorkflow by name': (engine) => engine.startWorkflow('work', 1),
  getRun: (engine) => engine.getRun('a'),
  listRuns: (engine) => engine.listRuns(),
  stats: (engine) => engine.stats(),
  sendEvent: (engine) => engine.sendEvent('a', 'go'),
  cancel: (engine) => engine.cancel('a'),
  pause: (engine) => engine.pause('a'),
  resume: (engine) => engine.resume('a'),
  revive: (engine) => engine.revive('a'),
  wake: (engine) => engine.wake('a'),
  fork: (engine) => engine.fork('a'),
  deleteRun: (engine) => engine.deleteRun('a'),
}

const handleCalls: Readonly<Record<string, (handle: RunHandle) => Promise<unknown>>> = {
  result: (handle) => handle.result(),
  'result with a timeout': (handle) => handle.result({ timeout: '1h' }),
  status: (handle) => handle.status(),
  get: (handle) => handle.get(),
  history: (handle) => handle.history(),
  cancel: (handle) => handle.cancel(),
  pause: (handle) => handle.pause(),
  resume: (handle) => handle.resume(),
}

describe('a closed engine rejects', () => {
  it.each(Object.entries(engineCalls))('%s', async (_, call) => {
    const { engine } = await closed()
    expect(await rejection(() => call(engine))).toBe('ENGINE_CLOSED')
  })

  it.each(Object.entries(handleCalls))('%s of a handle', async (_, call) => {
    const { engine, handle } = await closed()
    expect(await rejection(() => call(handle))).toBe('ENGINE_CLOSED')
    expect(await rejection(() => call(engine.getHandle('a')))).toBe('ENGINE_CLOSED')
  })

  it('whoever still waits for a result', async () => {
    const engine = createEngine({ store: memory(), workflows: [work], log: silentLog })
    const handle = await engine.startWorkflow(work, 1)
    const waiting = handle.result()
    await Promise.all([expect(waiting).rejects.toBeInstanceOf(EngineClosedError), engine.close()])
  })

  async function closed() {
    const engine = createEngine({ store: memory(), workflows: [work], log: silentLog })
    const handle = await engine.startWorkflow(work, 1, { id: 'a' })
    await engine.close()
    return { engine, handle }
  }
})

describe('close', () => {
  it('may be called again and again, also at the same time', async () => {
    const engine = createEngine({ store: memory(), workflows: [work], log: silentLog })
    await engine.work()
    await Promise.all([engine.close(), engine.close({ timeout: 0 })])
    await engine.close()
    await expect(engine.stats()).rejects.toMatchObject({ code: 'ENGINE_CLOSED' })
  })

  it('may come before the engine was ever used, and before work has begun', async () => {
    await createEngine({ store: memory() }).close()
    const engine = createEngine({ store: memory(), workflows: [work], log: silentLog })
    const working = engine.work()
    await engine.close()
    await expect(working).resolves.toBeUndefined()
    await expect(engine.work()).rejects.toMatchObject({
      code: expect.stringMatching(/ENGINE_CLOSED|INVALID_ARGUMENT/),
    })
  })

  it('leaves no listener on the process, after 30 engines', async () => {
    const listeners = () => process.eventNames().map((name) => [name, process.listenerCount(name)])
    const before = listeners()
    for (let i = 0; i < 30; i += 1) {
      const engine = createEngine({ store: memory(), workflows: [work], log: silentLog })
      await engine.work()
      await engine.close()
    }
    expect(listeners()).toEqual(before)
  })
})

describe('an engine on a new file', () => {
  it.each(Object.entries(handleCalls))(
    'answers %s of a handle as its first call',
    async (_, call) => {
      const path = join(await temporaryFolder(), 'work.db')
      const engine = createEngine({ store: openStore(path), workflows: [work], log: silentLog })
      expect(await rejection(() => call(engine.getHandle('none')))).toBe('RUN_NOT_FOUND')
      await engine.close()
    },
    20_000,
  )
})
