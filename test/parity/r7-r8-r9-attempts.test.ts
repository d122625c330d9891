import { describe, expect, it } from 'vitest'
import { PermanentError } from '../../src/core/errors.ts'
import { defineWorkflow } from '../../src/engine/define.ts'
import { engineFor, realTurn, stores } from './runner-kit.ts'

const MINUTE = 60_000

describe.each(stores)('R7 work that fails, on %s:', (_, open) => {
  it('is due again after the minutes of its schedule, then is abandoned with its last error', async () => {
    const starts: number[] = []
    const schedule = [5, 10, 20].map((minutes) => minutes * MINUTE)
    const work = defineWorkflow({ name: 'work', retry: { schedule } }, async ({ run }) => {
      starts.push(test.time.now)
      await realTurn()
      throw new Error(`attempt ${run.attempt}`)
    })
    const test = await engineFor({ store: await open(), workflows: [work] })
    const { status, error, record } = await test.run(work, null)
    const begun = starts[0] ?? 0
    expect(starts.map((at) => (at - begun) / MINUTE)).toEqual([0, 5, 15, 35])
    expect([status, record.attempt]).toEqual(['failed', 4])
    expect(error).toMatchObject({ message: 'attempt 4' })
  })

  it('shows why the last attempt failed while it waits for the next', async () => {
    const work = defineWorkflow({ name: 'work', retry: { schedule: ['5m'] } }, async () => {
      throw new Error('no paper')
    })
    const test = await engineFor({ store: await open(), workflows: [work] })
    const handle = await test.engine.startWorkflow(work, null)
    await test.advance('1m')
    const record = await handle.get()
    expect(record).toMatchObject({ status: 'pending', attempt: 2, dueAt: test.time.now + 4 * MINUTE })
    expect(record.error).toContain('no paper')
  })
})

describe('R8 an error that is permanent', () => {
  const errors: readonly (readonly [string, unknown])[] = [
    ['a PermanentError', new PermanentError('no')],
    ['any error with permanent: true', Object.assign(new Error('no'), { permanent: true })],
    ['an object with permanent: true', { permanent: true, message: 'no' }],
    ['an error caused by a permanent one', new Error('no', { cause: new PermanentError('no') })],
  ]
  it.each(errors)('abandons at once: %s', async (_, error) => {
    const work = defineWorkflow({ name: 'work', retry: { schedule: ['5m', '5m'] } }, () => {
      throw error
    })
    const test = await engineFor({ workflows: [work] })
    const { status, record } = await test.run(work, null)
    expect([status, record.attempt]).toEqual(['failed', 1])
  })

  it('is not what permanent: false says', async () => {
    const work = defineWorkflow({ name: 'work', retry: { schedule: ['5m'] } }, () => {
      throw Object.assign(new Error('no'), { permanent: false })
    })
    const test = await engineFor({ workflows: [work] })
    expect((await test.run(work, null)).record.attempt).toBe(2)
  })
})

describe('R9 work that succeeds', () => {
  it.each([{ id: 7, at: new Date(0) }, undefined, null, 0, '', false])(
    'keeps %j as its value',
    async (value) => {
      const work = defineWorkflow({ name: 'work' }, async () => {
        await realTurn()
        return value
      })
      const test = await engineFor({ workflows: [work] })
      const { status, output, handle } = await test.run(work, null)
      expect([status, output]).toEqual(['completed', value])
      await test.advance('1h')
      expect(await test.until(test.engine.getHandle(handle.id).result())).toEqual(value)
    },
  )
})
