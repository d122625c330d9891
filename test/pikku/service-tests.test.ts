/**
 * The service tests that Pikku publishes (`@pikku/core/testing`). They register with `node:test`, so they run in a process of
 * their own.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { newWorld, sharedDatabases } from '../processes/kit.ts'
import type { Place } from '../processes/places.ts'

const program = fileURLToPath(new URL('./programs/suite.mjs', import.meta.url))

/** What the tests came to, and the names of those that failed. */
interface Verdict {
  readonly passed: number
  readonly failed: readonly string[]
  readonly text: string
}

async function runSuite(kind: string, place: Place | null): Promise<Verdict> {
  const env = { ...process.env, PERDURE_SUITE: JSON.stringify({ kind, place }) }
  const argv = ['--test', '--test-reporter=tap', program]
  const text = await new Promise<string>((resolve) => {
    execFile(process.execPath, argv, { env, timeout: 60_000 }, (_error, stdout) => resolve(stdout))
  })
  const lines = text.split('\n').filter((line) => line.startsWith('    '))
  const failed = lines.flatMap((line) => /^ {4}not ok \d+ - (.*)$/.exec(line)?.[1] ?? [])
  return { passed: lines.filter((line) => /^ {4}ok \d+/.test(line)).length, failed, text }
}

const shared = await sharedDatabases()

describe("W14: Pikku's published tests of a workflow service", () => {
  it('pass on memory', async () => {
    const { passed, failed, text } = await runSuite('memory', null)
    expect(failed, text).toEqual([])
    expect(passed, text).toBe(19)
  })

  describe.each(shared)('on %s', (kind, url) => {
    it('pass', async () => {
      const { passed, failed, text } = await runSuite(kind, (await newWorld(url)).place)
      expect(failed, text).toEqual([])
      expect(passed, text).toBe(19)
    })
  })

  // The suite asks that a version which exists is left as it is; Pikku's service in memory writes it anew. Perdure
  // does what the suite asks for: a run keeps the definition that it was started with.
  it("are not all passed by Pikku's own service in memory", async () => {
    const { passed, failed } = await runSuite('pikku', null)
    expect(failed).toEqual(['upsertWorkflowVersion duplicate is no-op'])
    expect(passed).toBe(18)
  })
})
