import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { Database } from '../../src/stores/sqlite/database.ts'
import { loadDriver } from '../../src/stores/sqlite/driver.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { databaseOptions } from '../sqlite/helpers.ts'
import { scenarioTests } from './scenarios/tests.ts'

// Thousands of stores are asked for here: it is always the same one, which is emptied in between.
describe('on SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-scenarios-'))
  const path = join(folder, 'work.db')
  const store = sqlite(path, { synchronous: 'normal' })
  const keptOpen: Store = { ...store, close: async () => {} }
  let database: Database

  beforeAll(async () => {
    await store.migrate()
    database = new Database(await loadDriver(null), databaseOptions(path))
  })

  afterAll(async () => {
    database.close()
    await store.close()
    rmSync(folder, { recursive: true })
  })

  function emptied(): Store {
    for (const table of ['runs', 'journal', 'inbox', 'tags', 'workers']) {
      database.run(`DELETE FROM perdure_${table}`)
    }
    return { ...keptOpen }
  }

  scenarioTests({ makeStore: emptied, exact: false })
})
