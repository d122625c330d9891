import { expect, test } from 'vitest'
import { ground } from './kit.ts'

test('ten stores that migrate at once take each step once', async () => {
  const { open } = await ground()
  const taken = await Promise.all(Array.from({ length: 10 }, () => open().migrate()))
  expect(taken.flat()).toEqual([{ number: 1, name: 'initial' }])
  expect(await open().migrate()).toEqual([])
})

test('a dry run tells what would be done, and does nothing', async () => {
  const { open, schema, sql } = await ground()
  expect(await open().migrate({ dryRun: true })).toEqual([{ number: 1, name: 'initial' }])
  expect(await sql('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).toEqual([])
})

test.each([
  ['newer', `UPDATE perdure_migrations SET number = 99`, { failure: 'newer-schema' }],
  ['edited', `UPDATE perdure_migrations SET checksum = 'other'`, { failure: 'corrupt' }],
])('a schema that is %s is left as it is', async (_, change, error) => {
  const { open, schema, sql } = await ground()
  await open().migrate()
  await sql(change.replace('perdure_', `"${schema}".perdure_`))
  const before = await sql(`SELECT * FROM "${schema}".perdure_migrations`)
  await expect(open().migrate()).rejects.toMatchObject(error)
  expect(await sql(`SELECT * FROM "${schema}".perdure_migrations`)).toEqual(before)
})

test('a schema may have any name, and the search path of the user does not matter', async () => {
  const { open } = await ground('Pérdure "odd" $1; -- schema')
  const store = open()
  await store.migrate()
  expect(await store.stats()).toEqual([])
})

test('without tables, the error says what to do', async () => {
  const { open } = await ground()
  await expect(open().stats()).rejects.toThrow('Call migrate() first.')
})
