// The limit: the same rows in the same transactions, without the engine.
import { rowsOf } from './workloads.mjs'

/** The recorded batches once more, straight into an empty store: what remains is the store's own cost. */
export async function replayOnStore(open, batches) {
  const store = open()
  await store.migrate()
  const startedAt = performance.now()
  for (const writes of batches) await store.commit(writes, Date.now())
  const seconds = (performance.now() - startedAt) / 1000
  await store.close()
  return { rowsPerSecond: rowsIn(batches) / seconds, commitsPerSecond: batches.length / seconds }
}

/** As many rows of the same size in as many transactions, by bare SQL into one table, in this thread. */
export async function bareSql(file, batches, synchronous) {
  const { DatabaseSync } = await import('node:sqlite').catch(() => import('@photostructure/sqlite'))
  const database = new DatabaseSync(file)
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`)
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, run TEXT, name TEXT, value TEXT, at INTEGER)')
  const insert = database.prepare('INSERT INTO rows (run, name, value, at) VALUES (?, ?, ?, ?)')
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  const startedAt = performance.now()
  for (const writes of batches) {
    begin.run()
    for (const write of writes) {
      const id = write.type === 'create' ? write.run.id : write.runId
      for (let row = rowsOf(write); row > 0; row--) insert.run(id, 'step 1', '[{"i":1},1]', Date.now())
    }
    commit.run()
  }
  const seconds = (performance.now() - startedAt) / 1000
  database.close()
  return { rowsPerSecond: rowsIn(batches) / seconds, commitsPerSecond: batches.length / seconds }
}

/** How long two commits of one row take on a PostgreSQL, one after the other: the median in ms. */
export async function bareCommits(url) {
  const { default: pg } = await import('pg')
  const client = new pg.Client(url)
  await client.connect()
  await client.query('CREATE TABLE IF NOT EXISTS perdure_bare (id bigserial PRIMARY KEY, value text)')
  const insert = {
    name: 'insert',
    text: 'INSERT INTO perdure_bare (value) VALUES ($1)',
    values: ['[{"i":1},1]'],
  }
  const times = []
  for (let i = 0; i < 300; i++) {
    const startedAt = performance.now()
    await client.query(insert)
    await client.query(insert)
    times.push(performance.now() - startedAt)
  }
  await client.query('DROP TABLE perdure_bare')
  await client.end()
  return times.sort((a, b) => a - b)[150]
}

function rowsIn(batches) {
  return batches.flat().reduce((sum, write) => sum + rowsOf(write), 0)
}
