/** What an adversary found: ends that hang, errors that hide errors, kinds that cannot be. */
import { describe, expect, test } from 'vitest'
import { createEngine, type Engine } from '../../src/index.ts'
import { createQueueAdapter } from '../../src/queues/index.ts'
import { Slots } from '../../src/queues/slots.ts'
import { type RunnerWorkflow, WorkflowRunner } from '../../src/runner/index.ts'
import { memory } from '../../src/stores/memory/index.ts'

const quiet = () => {}
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }

async function working(): Promise<Engine> {
  const engine = createEngine({ store: memory(), log })
  await engine.work()
  return engine
}

/** A kind whose work begins and then waits for a word. */
function held(more: Partial<RunnerWorkflow> = {}) {
  const gate = { begun: quiet, release: quiet }
  const begun = new Promise<void>((resolve) => {
    gate.begun = resolve
  })
  const released = new Promise<void>((resolve) => {
    gate.release = resolve
  })
  const prepare = async (): Promise<string> => {
    gate.begun()
    await released
    return 'done'
  }
  return { kind: { kind: 'held', dedupeKey: String, prepare, ...more }, begun, release: () => gate.release() }
}

describe('stop()', () => {
  test.each([{ retrySchedule: [1] }, {}])(
    'waits for what is running when the engine stays open, kind %j, and takes no more',
    async (more) => {
      const engine = await working()
      const runner = new WorkflowRunner({ engine, keepEngineOpen: true })
      const { kind, begun, release } = held(more)
      runner.register(kind)
      const id = (await runner.enqueue('held', 'a')) ?? ''
      await begun
      const order: string[] = []
      const stopped = runner.stop().then(() => order.push('stopped'))
      await expect(runner.enqueue('held', 'b')).rejects.toMatchObject({ code: 'ENGINE_CLOSED' })
      order.push('released')
      release()
      await stopped
      expect(order).toEqual(['released', 'stopped'])
      if (more.retrySchedule) expect(await engine.getHandle(id).result()).toBe('done')
      await engine.close()
    },
  )

  test('refuses a timeout that is none, and can be called again', async () => {
    const engine = await working()
    const runner = new WorkflowRunner({ engine })
    await expect(runner.stop({ timeout: 'soon' })).rejects.toMatchObject({ code: 'INVALID_DURATION' })
    await runner.stop()
    await expect(engine.startWorkflow('x', 1)).rejects.toMatchObject({ code: 'ENGINE_CLOSED' })
  })

  test('closes the engine even if the queue adapter cannot be shut down', async () => {
    const engine = await working()
    const queueAdapter = createQueueAdapter('local')
    queueAdapter.shutdown = async () => {
      throw new Error('Redis is away')
    }
    const runner = new WorkflowRunner({ engine, queueAdapter })
    await expect(runner.stop()).rejects.toThrow('Redis is away')
    await expect(engine.startWorkflow('x', 1)).rejects.toMatchObject({ code: 'ENGINE_CLOSED' })
  })

  test('ends those who wait for a result of the store adapter', async () => {
    const engine = await working()
    const queue = createQueueAdapter('store', { engine })
    const id = (await queue.enqueue('nobody', 1)) ?? ''
    const result = queue.waitForResult(id)
    const refused = expect(result).rejects.toMatchObject({ code: 'QUEUE_CLOSED' })
    await queue.getJobStatus(id)
    await queue.shutdown()
    await refused
    await engine.close()
  })
})

test.each(['x'.repeat(129), '注文の同期処理を行うジョブ壱弐', 'a\0b', '\ud800x'])(
  'a fire-and-forget kind that no queue can name is refused at once: %j',
  async (kind) => {
    const engine = await working()
    const runner = new WorkflowRunner({ engine })
    expect(() => runner.register({ kind, dedupeKey: String, prepare: quiet })).toThrow(
      expect.objectContaining({ code: 'INVALID_NAME' }),
    )
    await runner.stop()
  },
)

test.each([1n, { toJSON: () => BigInt(1) }, Symbol('kind'), undefined, '  '])(
  'a kind that is no name is refused with a typed error (%#)',
  async (kind) => {
    const engine = await working()
    const runner = new WorkflowRunner({ engine })
    expect(() => runner.register({ kind: kind as string, dedupeKey: String, prepare: quiet })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
    await expect(runner.enqueue(kind as string, 1)).rejects.toMatchObject({ code: 'UNKNOWN_WORKFLOW' })
    await runner.stop()
  },
)

test.each([
  [
    'that cannot be marked, abandons',
    (): boolean => false,
    class extends Error {
      get permanent(): boolean {
        return false
      }
    },
    'failed',
  ],
  [
    'whose retryIf throws, is tried again and kept',
    (): boolean => {
      throw new TypeError('a bug in retryIf')
    },
    Error,
    'pending',
  ],
] as const)('an error %s', async (_, retryIf, Thrown, status) => {
  const engine = await working()
  const runner = new WorkflowRunner({ engine })
  runner.register({
    ...{ kind: 'fails', dedupeKey: String, retrySchedule: [60], retryIf },
    prepare: () => {
      throw new Thrown('the real reason')
    },
  })
  const id = (await runner.enqueue('fails', 'a')) ?? ''
  await expect
    .poll(async () => {
      const run = await engine.getRun(id)
      return [run?.status, JSON.stringify(run?.error).includes('the real reason')]
    })
    .toEqual([status, true])
  await runner.stop()
})

test('who is to stop leaves the line at once', async () => {
  const slots = new Slots(1)
  const { signal } = new AbortController()
  const abort = new AbortController()
  let release: () => void = quiet
  const first = slots.use(signal, async () => {
    await new Promise<void>((resolve) => {
      release = resolve
    })
  })
  const second = slots.use(abort.signal, () => 'second')
  const third = slots.use(signal, () => 'third')
  abort.abort(new Error('cancelled'))
  await expect(second).rejects.toThrow('cancelled')
  release()
  await first
  expect(await third).toBe('third')
  await expect(slots.use(abort.signal, () => 'never')).rejects.toThrow('cancelled')
  expect(await slots.use(signal, () => 'fourth')).toBe('fourth')
})
