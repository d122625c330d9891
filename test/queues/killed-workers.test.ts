/** The benchmark of fire-and-forget jobs, in small: workers are killed while they work, and nothing is lost. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { serviceOrSkip } from '../services/service.ts'

const program = fileURLToPath(new URL('../../bench/jobs/run.mjs', import.meta.url))
const LONG = process.env['PERDURE_LONG'] === '1'
const JOBS = LONG ? 50_000 : 2000
const KILLS = LONG ? 20 : 3

const transports = [
  { transport: 'store-sqlite', server: [] },
  { transport: 'store-postgres', server: ['--postgres', await serviceOrSkip('postgres')] },
  { transport: 'store-mongo', server: ['--mongo', await serviceOrSkip('mongo')] },
  { transport: 'redis', server: ['--redis', await serviceOrSkip('redis')] },
]

interface Verdict {
  readonly kills: number
  readonly lost: number
  readonly unfinished: number
}

describe(`${JOBS} fire-and-forget jobs`, () => {
  for (const { transport, server } of transports) {
    const known = server.filter((part) => part !== null)
    test.skipIf(known.length < server.length)(
      `are all done by ${transport} though workers are killed`,
      async () => {
        const verdicts = await measure(['--transports', transport, ...known])
        expect(verdicts.map(({ kills, lost, unfinished }) => ({ kills, lost, unfinished }))).toEqual([
          { kills: 0, lost: 0, unfinished: 0 },
          { kills: KILLS, lost: 0, unfinished: 0 },
        ])
      },
      LONG ? 600_000 : 120_000,
    )
  }
})

async function measure(argv: readonly string[]): Promise<Verdict[]> {
  const size = ['--jobs', String(JOBS), '--kills', String(KILLS)]
  const { stdout } = await promisify(execFile)(process.execPath, [program, '--json', ...size, ...argv])
  return JSON.parse(stdout)
}
