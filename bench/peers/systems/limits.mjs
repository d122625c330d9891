// What this machine can do at most: the same measurement without any system.
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'

const root = createRequire(new URL('../../../package.json', import.meta.url))
const VALUE = JSON.stringify([{ i: 1 }, 'x'.repeat(100)])

const limitOf = (name, title, server, measure) => ({
  name,
  title,
  npm: null,
  server,
  beside: null,
  settings: [{ name: 'default', kind: 'recommended and fastest', note: '', wait: 'recorded', long: [] }],
  lacks: {},
  guarantees: { flushed: '', steps: '', once: '', needs: '' },
  open: async ({ place }) => ({
    measure: (size) => measure(place, size.limitSeconds),
    close: async () => {},
  }),
})

export const limits = [
  limitOf('limit-disk', 'The disk', null, disk),
  limitOf('limit-sqlite', 'Bare SQLite', null, sqlite),
  limitOf('limit-postgres', 'Bare PostgreSQL', 'postgres', postgres),
]

/** How often `once` can be done in a second; it returns for how many rows it stands. */
async function rate(seconds, once) {
  for (let i = 0; i < 5; i++) await once()
  const startedAt = performance.now()
  let done = 0
  while (performance.now() - startedAt < seconds * 1000) done += await once()
  return (done / (performance.now() - startedAt)) * 1000
}

async function disk({ file }, seconds) {
  const handle = openSync(`${file}.flushes`, 'w')
  const block = Buffer.alloc(4096, 'x')
  const flushes = await rate(seconds, () => {
    writeSync(handle, block)
    fdatasyncSync(handle)
    return 1
  })
  closeSync(handle)
  return { 'flushes (4 KiB appended, fdatasync)': flushes }
}

async function sqlite({ file }, seconds) {
  const { DatabaseSync } = await import('node:sqlite').catch(() => root('@photostructure/sqlite'))
  const database = new DatabaseSync(`${file}.limit`)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, run TEXT, value TEXT)')
  const insert = database.prepare('INSERT INTO rows (run, value) VALUES (?, ?)')
  const inserts = (rows) => () => {
    database.exec('BEGIN IMMEDIATE')
    for (let row = 0; row < rows; row++) insert.run('a run', VALUE)
    database.exec('COMMIT')
    return rows
  }
  const figures = {
    'transactions of one row': await rate(seconds, inserts(1)),
    'rows, 100 a transaction': await rate(seconds, inserts(100)),
    'rows, 1,000 a transaction': await rate(seconds, inserts(1000)),
  }
  database.close()
  return figures
}

async function postgres({ url }, seconds) {
  const pg = root('pg')
  const pool = new pg.Pool({ connectionString: url, max: 32 })
  await pool.query('CREATE TABLE rows (id bigserial PRIMARY KEY, run text, value text)')
  const one = {
    name: 'one',
    text: 'INSERT INTO rows (run, value) VALUES ($1, $2)',
    values: ['a run', VALUE],
  }
  const many = (rows) => ({
    name: `many ${rows}`,
    text: 'INSERT INTO rows (run, value) SELECT * FROM unnest($1::text[], $2::text[])',
    values: [Array(rows).fill('a run'), Array(rows).fill(VALUE)],
  })
  const by = (clients, query, rows) => async () => {
    await Promise.all(Array.from({ length: clients }, () => pool.query(query)))
    return clients * rows
  }
  const figures = {
    'transactions of one row, 1 client': await rate(seconds, by(1, one, 1)),
    'transactions of one row, 32 clients': await rate(seconds, by(32, one, 1)),
    'rows, 100 a transaction, 1 client': await rate(seconds, by(1, many(100), 100)),
    'rows, 1,000 a transaction, 1 client': await rate(seconds, by(1, many(1000), 1000)),
  }
  await pool.end()
  return figures
}
