import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../sqlite/helpers.ts'
import { MB, measured } from './kit.ts'

test('100,000 runs that are parked in the store cost a process no more memory than 10,000', async () => {
  const folder = await temporaryFolder()
  const few = await measured('./parked-runs.mjs', join(folder, 'few.db'), '10000')
  const many = await measured('./parked-runs.mjs', join(folder, 'many.db'), '100000')
  expect([few['waiting'], many['waiting']]).toEqual([10_499, 100_499])
  expect([few['woken'], many['woken']]).toEqual([1, 1])
  expect((many['heapUsed'] ?? Number.NaN) - (few['heapUsed'] ?? 0)).toBeLessThan(4 * MB)
})
