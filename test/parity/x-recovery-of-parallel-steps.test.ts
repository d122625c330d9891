import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { crashEverywhere } from '../../src/testing/crash-kit.ts'
import { turns } from './kit.ts'

describe('a crash at any write', () => {
  const orders = [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
    [1, 0, 2],
  ]

  it.each(orders)(
    'B142 finds parallel steps again by their names, however long each takes (%i, %i, %i turns)',
    async (...lengths) => {
      let round = 0
      const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
        const names = ['a', 'b', 'c']
        const steps = names.map((name, index) => {
          return step.do(name, async () => {
            round += 1
            await turns(lengths[(index + round) % 3])
            return name
          })
        })
        const results = await Promise.all(steps)
        await step.sleep('pause', '1m')
        return [...results, await step.do('d', () => 'd')]
      })
      const report = await crashEverywhere(workflow, null, { patience: 50, hotRuns: 0 })
      const wrong = report.cuts.filter(({ result }) => result.status !== 'completed')
      expect(wrong.map(({ at }) => at)).toEqual([])
      for (const { result } of report.cuts) expect(result.output).toEqual(['a', 'b', 'c', 'd'])
    },
  )

  it.each([1, 2, 3])('B146 lets a map of %i at a time go on where it was', async (concurrency) => {
    const workflow = defineWorkflow({ name: 'w' }, async ({ step }) => {
      const results = await step.map('item', [1, 2, 3, 4, 5, 6], (n) => n * n, { concurrency })
      await step.sleep('pause', '1m')
      return results
    })
    const report = await crashEverywhere(workflow, null, { patience: 1, hotRuns: 0 })
    report.assertSound()
    expect(report.baseline.output).toEqual([1, 4, 9, 16, 25, 36])
  })
})
