import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Database } from '../../src/stores/sqlite/database.ts'
import { createOf, T } from '../../src/testing/store-suite/fixture.ts'
import { openDatabase, openStore, temporaryFolder } from './helpers.ts'

const settingOf = (database: Database, pragma: string): unknown =>
  Object.values(database.get(`PRAGMA ${pragma}`) ?? {})[0]

test('opens with a write-ahead log, full synchronisation and patience', async () => {
  const database = await openDatabase(join(await temporaryFolder(), 'work.db'))
  expect(settingOf(database, 'journal_mode')).toBe('wal')
  expect(settingOf(database, 'synchronous')).toBe(2)
  expect(settingOf(database, 'busy_timeout')).toBe(10_000)
  expect(settingOf(database, 'journal_size_limit')).toBe(8 * 1024 * 1024)
})

test('trades durability for speed only if asked', async () => {
  const database = await openDatabase(join(await temporaryFolder(), 'work.db'), { synchronous: 'normal' })
  expect(settingOf(database, 'synchronous')).toBe(1)
})

test('keeps the write-ahead log bounded', async () => {
  const path = join(await temporaryFolder(), 'work.db')
  const store = openStore(path)
  await store.migrate()
  const input = 'x'.repeat(100_000)
  // 60 MB in commits of 2 MB.
  for (let batch = 0; batch < 30; batch++) {
    const ids = Array.from({ length: 20 }, (_, i) => `run-${batch}-${i}`)
    await store.commit(
      ids.map((id) => createOf({ id, input })),
      T,
    )
  }
  expect(statSync(`${path}-wal`).size).toBeLessThan(16 * 1024 * 1024)
})

test.each([
  [{ synchronous: 'off' }, 'synchronous'],
  [{ busyTimeout: -1 }, 'busyTimeout'],
  [{ driver: class {} }, 'driver'],
])('refuses the options %j', (options, name) => {
  expect(() => openStore('work.db', options as object)).toThrow(name)
})
