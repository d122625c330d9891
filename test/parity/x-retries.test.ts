import { describe, expect, it, vi } from 'vitest'
import { PermanentError, RetryAfterError } from '../../src/core/errors.ts'
import { compileRetry, decideRetry, NO_RETRY } from '../../src/core/retry.ts'
import { defineWorkflow } from '../../src/engine/define.ts'
import { codeOf, failing, testEngine } from './kit.ts'

describe('retries', () => {
  it.each([0, 1, 2, 5])('B056 of a whole run: %i mean one attempt more', async (retries) => {
    const attempts: number[] = []
    const workflow = defineWorkflow({ name: 'w', retry: { retries, retryDelay: '1m' } }, ({ run }) => {
      attempts.push(run.attempt)
      throw new Error(`attempt ${run.attempt}`)
    })
    const test = await testEngine({ workflows: [workflow] })
    const { status, error } = await test.run(workflow, null)
    expect([status, String(error)]).toEqual(['failed', `Error: attempt ${retries + 1}`])
    expect(attempts).toEqual(Array.from({ length: retries + 1 }, (_, index) => index + 1))
  })

  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('B056 cannot be %s', async (retries) => {
    expect(() => defineWorkflow({ name: 'w', retry: { retries } }, () => 1)).toThrow(
      /retries must be a whole number/,
    )
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => [
      await step.do('a', () => 1, { retries }).catch(codeOf),
      await step.do('b', 'fn', null, { retries }).catch(codeOf),
    ])
    const test = await testEngine({ workflows: [workflow], functions: { fn: () => 1 } })
    expect((await test.run(workflow, null)).output).toEqual(['INVALID_ARGUMENT', 'INVALID_ARGUMENT'])
    expect(test.bodies).toEqual([])
  })

  it.each([2, 10])('B057 growing by %i never overflow their delay', (factor) => {
    const policy = compileRetry({ retries: 5000, retryDelay: { factor, jitter: 0 } }, 'x', NO_RETRY)
    let last = 0
    for (let attempt = 1; attempt <= 5000; attempt += 1) {
      const decision = decideRetry({ policy, attempt, error: new Error('x'), random: 0.5 })
      if (!decision.retry) throw new Error('it gave up')
      expect(Number.isInteger(decision.delayMs)).toBe(true)
      expect(decision.delayMs).toBeGreaterThanOrEqual(last)
      expect(decision.delayMs).toBeLessThanOrEqual(3_600_000)
      last = decision.delayMs
    }
    expect(decideRetry({ policy, attempt: 5001, error: new Error('x'), random: 0.5 })).toEqual({
      retry: false,
    })
  })

  it.each([0, '0s', { initial: 0, factor: 1000 }])(
    'B058 after %j happen at once, for ever',
    async (retryDelay) => {
      const workflow = defineWorkflow({ name: 'w' }, ({ step }) => {
        const body = ({ attempt }: { attempt: number }): number =>
          attempt < 2000 ? failing(new Error('no'))() : attempt
        return step.do('bad', body, { retries: 3000, retryDelay })
      })
      const test = await testEngine({ workflows: [workflow] })
      const begun = test.time.now
      expect((await test.run(workflow, null)).output).toBe(2000)
      expect(test.time.now).toBe(begun)
    },
  )

  it('B060 that have a delay and no number are an error, not silence', async () => {
    expect(() => defineWorkflow({ name: 'w', retry: { retryDelay: '1s' } }, () => 1)).toThrow(
      /no effect without retries/,
    )
    const workflow = defineWorkflow({ name: 'w' }, ({ step }) => {
      return step.do('a', () => 1, { retryDelay: 'exponential' }).catch((error: Error) => error.message)
    })
    const test = await testEngine({ workflows: [workflow] })
    expect((await test.run(workflow, null)).output).toMatch(/step "a".*no effect without retries/)
  })

  it('B061 are not made for a permanent error of a second copy of the package', async () => {
    vi.resetModules()
    const copy = await import('../../src/core/errors.ts')
    expect(copy.PermanentError).not.toBe(PermanentError)
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      const options = { retries: 5, retryDelay: '1m' }
      await step.do('permanent', failing(new copy.PermanentError('no')), options).catch(() => {})
      const body = ({ attempt }: { attempt: number }): number => {
        if (attempt === 1) throw new copy.RetryAfterError('2h')
        return step === undefined ? 0 : attempt
      }
      return await step.do('later', body, options)
    })
    const test = await testEngine({ workflows: [workflow] })
    const begun = test.time.now
    expect((await test.run(workflow, null)).output).toBe(2)
    expect(test.bodies.map(({ key }) => key)).toEqual(['permanent', 'later', 'later'])
    expect(test.time.now - begun).toBe(7_200_000)
    expect(new RetryAfterError('1s').retryAfter).toBe('1s')
  })
})

class Fatal extends Error {}
class Declined extends PermanentError {}

describe('a permanent error', () => {
  const helper = (): never => failing(new PermanentError('from a helper'))()
  const errors: Readonly<Record<string, () => never>> = {
    'thrown by the body': failing(new PermanentError('no')),
    'of a helper': () => helper(),
    'that is a cause': failing(
      new Error('outer', { cause: new Error('middle', { cause: new PermanentError('inner') }) }),
    ),
    'of a subclass': failing(new Declined('card')),
    'of another make': failing(Object.assign(new Error('http'), { permanent: true })),
    'that is no error': failing({ permanent: true }),
  }

  it.each(Object.entries(errors))(
    'B062 %s is attempted once: in a step, a function, a child and a run',
    async (_, body) => {
      const attempts: string[] = []
      const note = (where: string) => (): never => {
        attempts.push(where)
        return body()
      }
      const retry = { retries: 3, retryDelay: '1s' }
      const child = defineWorkflow({ name: 'child', retry }, ({ step }) =>
        step.do('in the child', note('child'), retry),
      )
      const parent = defineWorkflow({ name: 'parent', retry }, async ({ step }) => {
        await step.do('own', note('step'), retry).catch(() => {})
        await step.do('call', 'remote', null, retry).catch(() => {})
        return await step.do('child', child, null, retry)
      })
      const test = await testEngine({ workflows: [parent, child], functions: { remote: note('function') } })
      const { status, record } = await test.run(parent, null)
      expect([status, record.attempt]).toEqual(['failed', 1])
      expect(attempts).toEqual(['step', 'function', 'child'])
    },
  )

  it('B063 can be chosen by class, and its class name is kept though it sets none', async () => {
    const workflow = defineWorkflow({ name: 'w' }, ({ step }) => {
      return step.do('bad', failing(new Fatal('boom')), {
        retries: 5,
        retryIf: (error) => !(error instanceof Fatal),
      })
    })
    const test = await testEngine({ workflows: [workflow] })
    const { error } = await test.run(workflow, null)
    expect(test.bodies).toHaveLength(1)
    expect(error).toMatchObject({ name: 'Fatal', message: 'boom' })
  })
})
