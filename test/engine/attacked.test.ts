import { describe, expect, it } from 'vitest'
import { StoreError } from '../../src/core/errors.ts'
import { defineWorkflow } from '../../src/engine/define.ts'
import { createEngine } from '../../src/engine/engine.ts'
import type { Store } from '../../src/ports/store.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { createTestEngine } from '../../src/testing/test-engine.ts'
import { silentLog } from '../../src/testing/virtual-time.ts'

// Ways in which the engine was broken by somebody who tried to, each in the smallest form that shows it.

describe('an at-most-once step', () => {
  it('is not begun again when the run is tried again', async () => {
    let bodies = 0
    const once = defineWorkflow({ name: 'once', retry: { retries: 2, retryDelay: 0 } }, async ({ step }) => {
      const fails = (): void => {
        bodies += 1
        throw new Error('refused')
      }
      await step.do('pay', fails, { atMostOnce: true })
    })
    const test = await createTestEngine({ workflows: [once] })
    const { status, error } = await test.run(once, null)
    expect({ status, bodies }).toEqual({ status: 'failed', bodies: 1 })
    expect(error).toMatchObject({ message: 'refused' })
    await test.close()
  })
})

describe('a function that awaits something that is no step', () => {
  it('may end while its run is parked', async () => {
    let end: (value: string) => void = () => {}
    const outside = new Promise<string>((resolve) => {
      end = resolve
    })
    const racing = defineWorkflow({ name: 'racing' }, async ({ step }) => {
      return await Promise.race([step.waitForEvent('never'), outside])
    })
    const test = await createTestEngine({ workflows: [racing] })
    const { handle, status } = await test.run(racing, null)
    expect(status).toBe('waiting')
    end('from outside')
    expect(await test.until(handle.result())).toBe('from outside')
    await test.close()
  })
})

describe('an input that takes long to read', () => {
  it('does not make a replay look stalled', async () => {
    let slow = false
    const schema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: async (value: unknown) => {
          if (slow) await new Promise<void>((resolve) => setImmediate(resolve))
          return { value }
        },
      },
    } as const
    const read = defineWorkflow({ name: 'read', input: schema }, async ({ step }) => {
      await step.do('A', () => 1)
      return await step.waitForEvent('go')
    })
    const test = await createTestEngine({ workflows: [read], hotRuns: 0 })
    const { handle } = await test.run(read, null)
    slow = true
    await test.engine.sendEvent(handle.id, 'go', 'gone')
    expect(await test.until(handle.result())).toBe('gone')
    await test.close()
  })
})

describe('a fork', () => {
  it('keeps a failure that the code has handled', async () => {
    const calls: string[] = []
    const handled = defineWorkflow({ name: 'handled' }, async ({ step }) => {
      const fails = (): void => {
        calls.push('A')
        throw new Error('A failed')
      }
      await step.do('A', fails).catch(() => {})
      await step.do('B', () => calls.push('B'))
      await step.do('C', () => calls.push('C'))
      return calls.length
    })
    const test = await createTestEngine({ workflows: [handled] })
    const { handle } = await test.run(handled, null)
    const before = await test.engine.fork(handle.id, { before: 'C' })
    expect(await test.until(before.result())).toBe(4)
    expect(calls).toEqual(['A', 'B', 'C', 'C'])
    const all = await test.engine.fork(handle.id)
    await test.until(all.result())
    expect(calls).toHaveLength(4)
    await test.close()
  })

  it('does a failure at the end again', async () => {
    let healthy = false
    const failing = defineWorkflow({ name: 'failing' }, async ({ step }) => {
      const first = await step.do('first', () => 1)
      return await step.do('last', () => {
        if (!healthy) throw new Error('not yet')
        return first + 1
      })
    })
    const test = await createTestEngine({ workflows: [failing] })
    const { handle } = await test.run(failing, null)
    healthy = true
    expect(await test.until((await test.engine.fork(handle.id)).result())).toBe(2)
    await test.close()
  })

  it('takes over what earlier attempts of the run have done', async () => {
    const calls: string[] = []
    const retried = defineWorkflow({ name: 'retried', retry: { schedule: ['1h'] } }, async ({ step }) => {
      await step.do('A', () => calls.push('A'))
      await step.do('B', () => {
        throw new Error('B failed')
      })
    })
    const test = await createTestEngine({ workflows: [retried] })
    const { handle } = await test.run(retried, null)
    const fork = await test.engine.fork(handle.id)
    await test.until(fork.result().catch(() => {}))
    expect(calls).toEqual(['A'])
    await test.close()
  })

  it('does not see checkpoints of after its beginning', async () => {
    const paging = defineWorkflow({ name: 'paging' }, async ({ step, run }) => {
      const seen = { ...run.checkpoints }
      await step.do('page', () => 1)
      await step.sleep('a while', '1s')
      await run.save({ page: 1 })
      return seen
    })
    const test = await createTestEngine({ workflows: [paging] })
    const { handle } = await test.run(paging, null)
    const fork = await test.engine.fork(handle.id, { before: 'page' })
    expect(await test.until(fork.result())).toEqual({})
    await test.close()
  })
})

describe('the children of a run that cannot go on', () => {
  it('are cancelled with it', async () => {
    let changed = false
    const child = defineWorkflow({ name: 'child' }, ({ step }) => step.waitForEvent('never'))
    const parent = defineWorkflow({ name: 'parent' }, async ({ step }) => {
      await step.do(changed ? 'other' : 'first', () => 1)
      return await step.do('child', child, null)
    })
    const test = await createTestEngine({ workflows: [parent, child], hotRuns: 0 })
    const { handle } = await test.run(parent, null)
    changed = true
    await test.engine.wake(handle.id)
    await test.runUntilIdle()
    expect(await handle.status()).toBe('paused')
    await handle.cancel('given up')
    await test.runUntilIdle()
    expect(await handle.status()).toBe('cancelled')
    const { runs } = await test.engine.listRuns({ workflow: 'child' })
    expect(runs.map(({ status }) => status)).toEqual(['cancelled'])
    await test.close()
  })
})

describe('a log that throws', () => {
  it('does not harm a run', async () => {
    const fail = (): never => {
      throw new Error('the log is full')
    }
    const forgetful = defineWorkflow({ name: 'forgetful' }, ({ step }) => {
      void step.do('never awaited', () => 1)
      return 'done'
    })
    const log = { debug: fail, info: fail, warn: fail, error: fail }
    const engine = createEngine({ store: memory(), workflows: [forgetful], log })
    await engine.work()
    expect(await (await engine.startWorkflow(forgetful, null)).result()).toBe('done')
    await engine.close()
  })
})

describe('saves side by side', () => {
  it('leave the values of the last one', async () => {
    const saving = defineWorkflow({ name: 'saving' }, async ({ run }) => {
      await run.save({ at: 'A' })
      await Promise.all([run.save({ at: 'B' }), run.save({ at: 'A' })])
      return run.checkpoints
    })
    const test = await createTestEngine({ workflows: [saving] })
    expect((await test.run(saving, null)).output).toEqual({ at: 'A' })
    await test.close()
  })
})

describe('a start whose answer is lost', () => {
  it('is told as created, also by an engine that does not work', async () => {
    const inner = memory()
    let lost = 0
    const store: Store = {
      ...inner,
      commit: async (writes, now) => {
        const results = await inner.commit(writes, now)
        lost += 1
        if (lost === 1) throw new StoreError('unavailable', 'The answer is lost.')
        return results
      },
    }
    const idle = defineWorkflow({ name: 'idle' }, () => 1)
    const engine = createEngine({ store, workflows: [idle], log: silentLog })
    expect(await engine.startWorkflow(idle, null)).toMatchObject({ created: true })
    expect((await engine.listRuns()).runs).toHaveLength(1)
    await engine.close()
  })
})
