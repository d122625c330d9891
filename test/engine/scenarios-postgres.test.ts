import pg from 'pg'
import { afterAll, beforeAll, describe } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { freshSchema } from '../services/schema.ts'
import { serviceOrSkip } from '../services/service.ts'
import { scenarioTests } from './scenarios/tests.ts'

const url = await serviceOrSkip('postgres')

// Thousands of stores are made here: they share connections and a schema, which is emptied in between.
describe.skipIf(url === null)('on PostgreSQL', () => {
  const { schema, dispose } = freshSchema(url ?? '')
  const pool = new pg.Pool({ connectionString: url ?? '' })
  const tables = ['runs', 'journal', 'inbox', 'tags', 'workers'].map((name) => `${schema}.perdure_${name}`)

  beforeAll(async () => {
    await postgres(pool, { schema }).migrate()
  })

  afterAll(async () => {
    await pool.end()
    await dispose()
  })

  async function emptied(): Promise<Store> {
    await pool.query(tables.map((table) => `DELETE FROM ${table}`).join(';'))
    return postgres(pool, { schema })
  }

  scenarioTests({ makeStore: emptied, exact: false })
})
