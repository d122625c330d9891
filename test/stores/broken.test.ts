/** A suite is worth what it catches: each of these stores breaks one promise, and must be found out. */
import { describe, expect, test } from 'vitest'
import { MemoryData, memory } from '../../src/stores/memory/index.ts'
import type { OpenStore } from '../../src/testing/store-suite/index.ts'
import { brokenCalls } from './broken/broken-calls.ts'
import { brokenWrites } from './broken/broken-writes.ts'
import { collect, failures } from './broken/collect.ts'
import type { Break } from './broken/tools.ts'

function opening(break_: Break): () => Promise<OpenStore> {
  return async () => {
    const data = new MemoryData()
    const another = () => break_(memory({ data }), data)
    const store = another()
    return { store, reopen: async () => another(), dispose: () => store.close() }
  }
}

describe('the store suite', () => {
  test('passes a store that is whole', async () => {
    expect(await failures(collect(opening((store) => store)))).toEqual([])
  })

  test.each(Object.entries({ ...brokenWrites, ...brokenCalls }))('finds out that %s', async (_, break_) => {
    const tests = collect(opening(break_))
    const failed = await failures(tests)
    expect(failed).not.toEqual([])
    // A store that fails everywhere was not caught by the test that is about its fault.
    expect(failed.length).toBeLessThan(tests.length / 2)
  })
})
