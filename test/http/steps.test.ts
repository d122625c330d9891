import { describe, expect, it, onTestFinished } from 'vitest'
import { defineWorkflow, retryUnlessPermanent } from '../../src/index.ts'
import { createTestEngine } from '../../src/testing/index.ts'
import { callers } from './callers.ts'
import { statusServer } from './server.ts'

describe.each(callers)('a step that calls by %s and retries unless that is pointless', (_, call) => {
  const fetchIt = defineWorkflow({ name: 'fetch it' }, async ({ input, step }) => {
    const options = { retries: 4, retryDelay: '1 minute', retryIf: retryUnlessPermanent } as const
    await step.do('call', async () => void (await call(String(input))), options)
    return 'done'
  })

  /** Runs it against a server that answers so, in virtual time. */
  async function runAgainst(...statuses: readonly number[]) {
    const server = await statusServer(...statuses)
    const test = await createTestEngine({ workflows: [fetchIt] })
    onTestFinished(() => test.close())
    const begun = test.time.now
    const { status } = await test.run(fetchIt, server.url)
    return { status, requests: server.requests, minutes: (test.time.now - begun) / 60_000 }
  }

  it('fails at once on 404', async () => {
    expect(await runAgainst(404)).toEqual({ status: 'failed', requests: 1, minutes: 0 })
  })

  it('tries again on 503 and 429', async () => {
    expect(await runAgainst(503, 429, 200)).toEqual({ status: 'completed', requests: 3, minutes: 2 })
  })

  it('stops at the first permanent answer', async () => {
    expect(await runAgainst(503, 410)).toEqual({ status: 'failed', requests: 2, minutes: 1 })
  })

  it('uses up its retries on what does not pass', async () => {
    expect(await runAgainst(500)).toEqual({ status: 'failed', requests: 5, minutes: 4 })
  })
})
