import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { InvalidInputError } from '../../src/core/errors.ts'
import { defineWorkflow } from '../../src/engine/define.ts'
import { contents, engineFor, untyped } from './fixture.ts'

const Order = v.object({
  orderId: v.pipe(v.string(), v.minLength(1)),
  items: v.array(v.object({ sku: v.string(), count: v.pipe(v.number(), v.minValue(1)) })),
})

const bad = {
  orderId: '',
  items: [
    { sku: 'a', count: 0 },
    { sku: 7, count: 1 },
  ],
}

describe('an input that its schema refuses', () => {
  it('starts nothing; the error says where and why, for each issue', async () => {
    const order = defineWorkflow({ name: 'order', input: Order }, ({ input }) => input.orderId)
    const test = await engineFor({ workflows: [order] })
    const error = await test.engine
      .startWorkflow(order, untyped<v.InferInput<typeof Order>>(bad), { key: 'k' })
      .catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(InvalidInputError)
    expect(error).toMatchObject({
      code: 'INVALID_INPUT',
      issues: [{ path: 'orderId' }, { path: 'items.0.count' }, { path: 'items.1.sku' }],
    })
    expect(String(error)).toMatch(/"order".*orderId.*items\.0\.count.*items\.1\.sku/)
    expect(await contents(test.store)).toEqual([])
  })

  it('takes no key: the next start with the key makes a run', async () => {
    const order = defineWorkflow({ name: 'order', input: Order }, ({ input }) => input.orderId)
    const test = await engineFor({ workflows: [order] })
    await test.engine.startWorkflow('order', bad, { key: 'k' }).catch(() => {})
    const good = { orderId: '1', items: [] }
    expect(await test.engine.startWorkflow(order, good, { key: 'k' })).toMatchObject({ created: true })
  })

  it.each([undefined, null, 7, 'text', []])('is %j, by name as well as by workflow', async (input) => {
    const order = defineWorkflow({ name: 'order', input: Order, key: ({ orderId }) => orderId }, () => 1)
    const test = await engineFor({ workflows: [order] })
    const byName = test.engine.startWorkflow('order', input)
    await expect(byName).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    const byWorkflow = test.engine.startWorkflow(order, untyped<v.InferInput<typeof Order>>(input))
    await expect(byWorkflow).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    expect(await contents(test.store)).toEqual([])
  })
})

describe('a schema', () => {
  it('that is asynchronous is waited for, and refuses as any other', async () => {
    const known = new Set(['a'])
    const Known = v.pipeAsync(
      v.string(),
      v.checkAsync(async (id) => known.has(id), 'unknown customer'),
    )
    const greet = defineWorkflow({ name: 'greet', input: Known }, ({ input }) => `hello ${input}`)
    const test = await engineFor({ workflows: [greet] })
    expect((await test.run(greet, 'a')).output).toBe('hello a')
    const start = test.engine.startWorkflow(greet, 'b')
    await expect(start).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await expect(start).rejects.toThrow(/unknown customer/)
  })

  it('transforms what the function is given; the journal keeps what was given', async () => {
    const At = v.pipe(
      v.string(),
      v.transform((text) => new Date(text)),
    )
    const when = defineWorkflow({ name: 'when', input: At }, ({ input }) => input.getTime())
    const test = await engineFor({ workflows: [when] })
    const { output, record } = await test.run(when, '2030-01-01T00:00:00Z')
    expect(output).toBe(Date.UTC(2030, 0, 1))
    expect(record.input).toContain('2030-01-01T00:00:00Z')
  })

  it('that throws refuses the start, and nothing is started', async () => {
    const Broken = v.pipe(
      v.string(),
      v.check(() => {
        throw new TypeError('the schema is broken')
      }),
    )
    const work = defineWorkflow({ name: 'work', input: Broken }, () => 1)
    const test = await engineFor({ workflows: [work] })
    await expect(test.engine.startWorkflow(work, 'x')).rejects.toThrow('the schema is broken')
    expect(await contents(test.store)).toEqual([])
  })

  it('that became stricter pauses a run that was started before, with the reason; a fix and resume go on', async () => {
    let strict = false
    const Count = v.pipe(
      v.number(),
      v.check((n) => !strict || n > 10, 'at least 10'),
    )
    const count = defineWorkflow({ name: 'count', input: Count }, ({ input }) => input)
    const test = await engineFor({ workflows: [count] })
    const { id } = await test.engine.startWorkflow(count, 5, { delay: '1h' })
    strict = true
    await test.runUntilIdle()
    const paused = await test.engine.getRun(id)
    expect(paused?.status).toBe('paused')
    expect(paused?.error).toContain('at least 10')
    strict = false
    await test.engine.resume(id)
    expect(await test.until(test.engine.getHandle(id).result())).toBe(5)
  })

  it('refuses the input of a child where the parent starts it', async () => {
    const order = defineWorkflow({ name: 'order', input: Order }, () => 1)
    const parent = defineWorkflow({ name: 'parent' }, ({ step }) =>
      step.do('order', order, untyped<v.InferInput<typeof Order>>(bad)).catch((error) => error.code),
    )
    const test = await engineFor({ workflows: [order, parent] })
    const { status, output } = await test.run(parent, null)
    expect([status, output]).toEqual(['completed', 'INVALID_INPUT'])
  })
})
