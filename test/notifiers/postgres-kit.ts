import { randomBytes } from 'node:crypto'
import pg, { type Pool, type PoolConfig } from 'pg'
import { onTestFinished } from 'vitest'
import { channelOf } from '../../src/notifiers/postgres/channel.ts'
import { PostgresHub, type PostgresHubOptions } from '../../src/notifiers/postgres/index.ts'
import type { Hint } from '../../src/ports/notifier.ts'
import { serviceOrSkip } from '../services/service.ts'
import { Ear, MemoryLog, QUICK } from './kit.ts'

/** The server that tests share, `null` where there is none. */
export const shared = await serviceOrSkip('postgres')
export const url = shared ?? ''

export interface Station {
  readonly hub: PostgresHub
  readonly ear: Ear
  readonly log: MemoryLog
  readonly pool: Pool
  publish(...hints: readonly Hint[]): void
}

/** A hub with a pool of its own, as that of another process, and one subscriber. */
export function station(
  database: string,
  { schema = 'perdure', config = {}, ...options }: Partial<PostgresHubOptions> & { config?: PoolConfig } = {},
): Station {
  const pool = new pg.Pool({ connectionString: database, max: 2, allowExitOnIdle: true, ...config })
  pool.on('error', () => {})
  const log = new MemoryLog()
  const hub = new PostgresHub({ pool: async () => pool, schema, timings: QUICK, ...options })
  const notifier = hub.notifier(log)
  const ear = new Ear()
  notifier.subscribe(ear.listen)
  onTestFinished(async () => {
    await hub.close()
    await pool.end()
  })
  return { hub, ear, log, pool, publish: (...hints) => notifier.publish(hints) }
}

export function freshName(): string {
  return `test_${randomBytes(8).toString('hex')}`
}

export async function query(
  text: string,
  values: unknown[] = [],
): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

/** The processes of the server that listen to the channel of this schema. */
export async function listeners(schema: string): Promise<readonly unknown[]> {
  const rows = await query('SELECT pid FROM pg_stat_activity WHERE query = $1', [
    `LISTEN "${channelOf(schema)}"`,
  ])
  return rows.map((row) => row['pid'])
}
