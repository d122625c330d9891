import { describe, expect, it, onTestFinished } from 'vitest'
import { StoreError } from '../../src/core/errors.ts'
import type { Engine } from '../../src/engine/api.ts'
import { defineWorkflow } from '../../src/engine/define.ts'
import { createEngine } from '../../src/engine/engine.ts'
import type { Log } from '../../src/ports/environment.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { VirtualTime } from '../../src/testing/virtual-time.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'
import { contents } from './fixture.ts'

const BOUND_MS = 10_000

const requests: Readonly<Record<string, (engine: Engine) => Promise<unknown>>> = {
  startWorkflow: (engine) => engine.startWorkflow('work', 1),
  sendEvent: (engine) => engine.sendEvent('waits', 'go'),
  cancel: (engine) => engine.cancel('waits'),
  getRun: (engine) => engine.getRun('waits'),
}

describe.each(Object.entries(requests))('while the store fails, %s', (_, request) => {
  it('rejects within ten seconds with a StoreError, and has done nothing', async () => {
    const { engine, time, store, outage } = await working()
    const before = await contents(store)
    outage(true)
    const answer = await answerWithin(time, request(engine))
    expect(answer).toBeInstanceOf(StoreError)
    expect(answer).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    outage(false)
    await time.advance(BOUND_MS)
    expect(await contents(store)).toEqual(before)
  })

  it('does so too while a run has something to write', async () => {
    const { engine, time, outage, finishBody } = await working()
    await engine.startWorkflow('busy', 1)
    await time.settle()
    outage(true)
    finishBody()
    await time.advance(100)
    expect(await answerWithin(time, request(engine))).toBeInstanceOf(StoreError)
    outage(false)
    await time.advance(BOUND_MS)
  })
})

describe('when the store works again after 20 seconds', () => {
  it('runs go on, and no body is called twice', async () => {
    const { engine, time, outage, calls } = await working()
    await Promise.all(Array.from({ length: 20 }, () => engine.startWorkflow('work', 1)))
    await time.advance(1000)
    outage(true)
    await time.advance(20_000)
    outage(false)
    await time.advance(60_000)
    const { runs } = await engine.listRuns({ workflow: 'work' })
    expect(runs.map(({ status }) => status)).toEqual(Array(20).fill('completed'))
    expect(calls()).toBe(20 * 10)
  })

  it('new work is taken within five seconds', async () => {
    const { engine, time, outage } = await working()
    outage(true)
    await time.advance(20_000)
    outage(false)
    const { id } = await engine.startWorkflow('quick', 1, { delay: 1 })
    await time.advance(5000)
    expect((await engine.getRun(id))?.status).toBe('completed')
  })
})

describe('20 seconds of failures', () => {
  it('are told in fewer than 200 lines, whatever was going on (B126)', async () => {
    const { engine, time, outage, lines } = await working()
    await Promise.all(Array.from({ length: 20 }, () => engine.startWorkflow('work', 1)))
    await time.advance(1000)
    outage(true)
    await time.advance(20_000)
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.length).toBeLessThan(200)
    outage(false)
    await time.advance(10_000)
  })

  it('are told in fewer than 200 lines, although 100 callers wait for results (B126)', async () => {
    const { engine, time, outage, lines } = await working()
    for (let i = 0; i < 100; i += 1) {
      const handle = await engine.startWorkflow('waiting', 1)
      handle.result().catch(() => {})
    }
    await time.advance(1000)
    outage(true)
    await time.advance(20_000)
    expect(lines.length).toBeLessThan(200)
    outage(false)
    await time.advance(10_000)
  })
})

async function answerWithin(time: VirtualTime, asked: Promise<unknown>): Promise<unknown> {
  const answer = asked.then(
    () => 'accepted',
    (error: unknown) => error,
  )
  const late = (async () => {
    for (let ms = 0; ms < BOUND_MS; ms += 500) await time.advance(500)
    await time.settle()
    return `no answer within ${BOUND_MS} ms`
  })()
  return await Promise.race([answer, late])
}

async function working() {
  const time = new VirtualTime()
  const store = memory()
  const lines: string[] = []
  let failing = false
  let calls = 0
  let finishBody = (): void => {}
  const finished = new Promise<void>((resolve) => {
    finishBody = resolve
  })
  const unreliable = wrapStore(store, async (_method, call) => {
    if (failing) throw new StoreError('unavailable', 'The database does not answer. Look at its host.')
    return await call()
  })
  const work = defineWorkflow({ name: 'work' }, async ({ step }) => {
    for (let i = 0; i < 10; i += 1) {
      await step.do('count', () => {
        calls += 1
      })
      await step.sleep('pause', '500ms')
    }
  })
  const busy = defineWorkflow({ name: 'busy' }, ({ step }) => step.do('hold', () => finished))
  const quick = defineWorkflow({ name: 'quick' }, () => 1)
  const waiting = defineWorkflow({ name: 'waiting' }, ({ step }) => step.waitForEvent('go'))
  const warn: Log['warn'] = (message) => void lines.push(message)
  const log: Log = { debug: () => {}, info: () => {}, warn, error: warn }
  const engine = createEngine({
    store: unreliable,
    workflows: [work, busy, quick, waiting],
    environment: time.environment({ log }),
    lease: '60s',
    keepStoreOpen: true,
  })
  await engine.work()
  await engine.startWorkflow(waiting, 1, { id: 'waits' })
  await time.advance(100)
  onTestFinished(async () => {
    failing = false
    const closing = engine.close({ timeout: 0 })
    await time.advance(2000)
    await closing
  })
  const outage = (on: boolean): void => {
    failing = on
  }
  return { engine, time, store, outage, lines, calls: () => calls, finishBody: () => finishBody() }
}
