import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createOf, newRun, T } from '../../src/testing/store-suite/fixture.ts'
import { openConnection, openStore, temporaryFolder } from './helpers.ts'
import { cannotMount, mountMemory, remount } from './mount.ts'

describe('refuses, and leaves as it is,', () => {
  test('a schema that a newer version made', async () => {
    const path = join(await temporaryFolder(), 'work.db')
    await openStore(path).migrate()
    const other = await openConnection(path)
    other.exec("INSERT INTO perdure_migrations (number, name, checksum) VALUES (7, 'later', 'x')")
    const attempt = openStore(path).migrate()
    await expect(attempt).rejects.toMatchObject({ failure: 'newer-schema' })
    await expect(attempt).rejects.toThrow(/schema version 7, .* up to 2/)
  })

  test('a schema whose migration had another text', async () => {
    const path = join(await temporaryFolder(), 'work.db')
    await openStore(path).migrate()
    ;(await openConnection(path)).exec("UPDATE perdure_migrations SET checksum = 'x'")
    await expect(openStore(path).migrate()).rejects.toMatchObject({ failure: 'corrupt' })
  })

  test('a file that is no database', async () => {
    const path = join(await temporaryFolder(), 'work.db')
    const text = 'This is a letter.\n'.repeat(500)
    writeFileSync(path, text)
    const attempt = openStore(path).migrate()
    await expect(attempt).rejects.toMatchObject({ failure: 'corrupt' })
    await expect(attempt).rejects.toThrow(path)
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  test('a path whose folder is missing', async () => {
    const folder = join(await temporaryFolder(), 'missing')
    const attempt = openStore(join(folder, 'work.db')).migrate()
    await expect(attempt).rejects.toMatchObject({ failure: 'unavailable' })
    await expect(attempt).rejects.toThrow(folder)
    expect(existsSync(folder)).toBe(false)
  })

  test('a folder in place of a file', async () => {
    const path = join(await temporaryFolder(), 'work.db')
    mkdirSync(path)
    await expect(openStore(path).migrate()).rejects.toMatchObject({ failure: 'unavailable' })
  })
})

test('says that a driver is missing, and which option names it', async () => {
  const attempt = openStore('work.db', { driver: 'no-such-driver' }).migrate()
  await expect(attempt).rejects.toMatchObject({ failure: 'missing-driver' })
  await expect(attempt).rejects.toThrow(/"no-such-driver".*"driver"/)
})

test('says what to call when the tables are missing, and works once they exist', async () => {
  const store = openStore(join(await temporaryFolder(), 'work.db'))
  const attempt = store.commit([createOf({ id: 'a' })], T)
  await expect(attempt).rejects.toMatchObject({ failure: 'unavailable' })
  await expect(attempt).rejects.toThrow('migrate()')
  await store.migrate()
  await store.commit([createOf({ id: 'a' })], T)
})

test('condemns only the write that cannot be stored', async () => {
  const store = openStore(join(await temporaryFolder(), 'work.db'))
  await store.migrate()
  const broken = {
    ...createOf({ id: 'b' }),
    run: { ...newRun({ id: 'b' }), workflow: null as unknown as string },
  }
  const results = await store.commit([createOf({ id: 'a' }), broken, createOf({ id: 'c' })], T)
  expect(results.map(({ status }) => status)).toEqual(['ok', 'error', 'ok'])
  expect((await store.listRuns({ limit: 10 })).runs.map(({ id }) => id)).toEqual(['c', 'a'])
})

test('reads with { readOnly: true } and refuses to write', async () => {
  const path = join(await temporaryFolder(), 'work.db')
  const writer = openStore(path)
  await writer.migrate()
  await writer.commit([createOf({ id: 'a' })], T)
  const reader = openStore(path, { readOnly: true })
  await reader.migrate()
  expect((await reader.getRun('a'))?.id).toBe('a')
  await expect(reader.commit([createOf({ id: 'b' })], T)).rejects.toMatchObject({ failure: 'read-only' })
  expect((await reader.listRuns({ limit: 10 })).runs).toHaveLength(1)
})

const reason = cannotMount()
const mounted = reason === null ? test : test.skip
mounted(
  `says what cannot be written in a read-only folder, reads there, and goes on when it can be written${reason ?? ''}`,
  async () => {
    const folder = await temporaryFolder()
    mountMemory(folder, '8m')
    const path = join(folder, 'work.db')
    const store = openStore(path)
    await store.migrate()
    await store.commit([createOf({ id: 'a' })], T)
    await store.close()
    remount(folder, 'ro')

    const refused = openStore(path)
    const attempt = refused.migrate()
    await expect(attempt).rejects.toMatchObject({ failure: 'read-only' })
    await expect(attempt).rejects.toThrow(path)
    await expect(openStore(join(folder, 'new.db')).migrate()).rejects.toMatchObject({ failure: 'read-only' })
    const reader = openStore(path, { readOnly: true })
    await reader.migrate()
    expect((await reader.getRun('a'))?.id).toBe('a')

    remount(folder, 'rw')
    await refused.commit([createOf({ id: 'b' })], T)
  },
)
