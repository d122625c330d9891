import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { wrapStore } from '../../src/testing/wrap-store.ts'
import { engineFor, gate, realTurn, stores } from './runner-kit.ts'

/** What other systems store nested, refuse or lose. */
const awkward: Readonly<Record<string, unknown>> = {
  'a.b.c': 1,
  a: { b: { c: 2 } },
  $set: 3,
  'x.$y': 4,
  ['__proto__']: { polluted: true },
  constructor: 5,
  toString: 6,
  'ключ 🔑 with spaces': 7,
  '#save:1': 8,
  '1': 9,
  nothing: undefined,
  empty: {},
  list: [],
  none: null,
  inner: { 'd.e': { $f: undefined }, ['__proto__']: 1 },
}

describe.each(stores)('X43 checkpoints with awkward names and values, on %s:', (_, open) => {
  it('come back as they were, in the same run and in a later attempt', async () => {
    const seen: Readonly<Record<string, unknown>>[] = []
    const work = defineWorkflow({ name: 'work', retry: { schedule: ['1m'] } }, async ({ run }) => {
      if (run.attempt === 1) await run.save(awkward)
      seen.push(run.checkpoints)
      if (run.attempt === 1) throw new Error('again')
    })
    const test = await engineFor({ store: await open(), workflows: [work] })
    await test.run(work, null)
    expect(seen).toHaveLength(2)
    for (const checkpoints of seen) {
      expect(Object.keys(checkpoints).sort()).toEqual(Object.keys(awkward).sort())
      for (const [name, value] of Object.entries(awkward)) {
        expect(Object.hasOwn(checkpoints, name)).toBe(true)
        expect(Object.entries(checkpoints).find(([key]) => key === name)?.[1]).toStrictEqual(value)
      }
    }
    expect({}).not.toHaveProperty('polluted')
  })

  it('do not get in the way of steps of the same name', async () => {
    const work = defineWorkflow({ name: 'work' }, async ({ run, step }) => {
      await run.save({ page: 'saved', '#save:1': 1 })
      const page = await step.do('page', () => 'done')
      return [page, run.checkpoints]
    })
    const test = await engineFor({ store: await open(), workflows: [work], hotRuns: 0 })
    const { output } = await test.run(work, null)
    expect(output).toEqual(['done', { page: 'saved', '#save:1': 1 }])
  })
})

describe('X44 a checkpoint that the store does not have yet', () => {
  it('is not seen until it is durable', async () => {
    const { written, begin, opened, seen, until, handle } = await slowStore()
    const result = handle.result()
    await begin.opened
    await realTurn()
    expect(seen).toEqual([{}])
    written.open()
    await until(result)
    expect(seen).toEqual([{}, { page: 1 }])
    expect(opened()).toBe(true)
  })

  it('is not seen if it could not be encoded, and nothing of its patch is', async () => {
    const work = defineWorkflow({ name: 'work' }, async ({ run }) => {
      const refused = await run.save({ page: 1, bad: () => {} }).catch((error: unknown) => error)
      return [run.checkpoints, (refused as { code: string }).code]
    })
    const test = await engineFor({ workflows: [work] })
    expect((await test.run(work, null)).output).toEqual([{}, 'UNSERIALIZABLE_VALUE'])
  })

  async function slowStore() {
    const [written, begin] = [gate(), gate()]
    let isWritten = false
    const store = wrapStore(memory(), async (_method, call, writes) => {
      if (writes?.some((write) => write.type === 'advance' && write.entries.length > 0)) {
        await written.opened
        isWritten = true
      }
      return await call()
    })
    const seen: unknown[] = []
    const work = defineWorkflow({ name: 'work' }, async ({ run }) => {
      const saving = run.save({ page: 1 })
      await realTurn()
      seen.push(run.checkpoints)
      begin.open()
      await saving
      seen.push(run.checkpoints)
    })
    const test = await engineFor({ store, workflows: [work] })
    const handle = await test.engine.startWorkflow(work, null)
    return { written, begin, opened: () => isWritten, seen, until: test.until.bind(test), handle }
  }
})
