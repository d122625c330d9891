import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { NewRun } from '../../src/core/run.ts'
import type { Store } from '../../src/index.ts'
import { type PostgresOptions, postgres } from '../../src/stores/postgres/index.ts'
import { freshSchema } from '../services/schema.ts'
import { service } from '../services/service.ts'

/** A schema for one test, and ways to it. */
export interface Ground {
  readonly url: string
  readonly schema: string
  /** A store that is closed after the test. */
  open(options?: PostgresOptions): Store
  /** Executes SQL in one connection of the test's own. */
  sql(text: string, values?: readonly unknown[]): Promise<readonly Record<string, unknown>[]>
}

export async function ground(name?: string): Promise<Ground> {
  const url = await service('postgres')
  const { schema, dispose } = freshSchema(url, name)
  onTestFinished(dispose)
  const client = new pg.Client(url)
  await client.connect()
  onTestFinished(() => client.end())
  return {
    url,
    schema,
    open(options) {
      const store = postgres(url, { schema, ...options })
      onTestFinished(() => store.close())
      return store
    },
    sql: async (text, values = []) => (await client.query(text, [...values])).rows,
  }
}

/** A run that is due at `dueAt`. */
export function newRun(id: string, dueAt: number): NewRun {
  return {
    id,
    workflow: 'w',
    version: '',
    queue: 'default',
    key: null,
    priority: 0,
    tags: [],
    input: '1',
    policy: { retry: null, timeout: null, retention: 1_000, call: null },
    dueAt,
    parentId: null,
    parentStep: null,
    entries: [],
  }
}
