import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { Database, type DatabaseOptions } from '../../src/stores/sqlite/database.ts'
import { type Connection, loadDriver } from '../../src/stores/sqlite/driver.ts'
import { type SqliteOptions, sqlite } from '../../src/stores/sqlite/index.ts'

/** A new folder, removed after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-sqlite-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A store that is closed after the test. */
export function openStore(path: string, options: SqliteOptions = {}): Store {
  const store = sqlite(path, options)
  onTestFinished(() => store.close())
  return store
}

/** The thread's connection, without its thread. */
export async function openDatabase(path: string, options: Partial<DatabaseOptions> = {}): Promise<Database> {
  const database = new Database(await loadDriver(null), databaseOptions(path, options))
  onTestFinished(() => database.close())
  return database
}

/** A connection of the driver alone, as another program would open the file. */
export async function openConnection(path: string): Promise<Connection> {
  const connection = (await loadDriver(null))(path, false)
  onTestFinished(() => connection.close())
  return connection
}

export function databaseOptions(path: string, options: Partial<DatabaseOptions> = {}): DatabaseOptions {
  return { path, synchronous: 'full', busyTimeout: 10_000, readOnly: false, driver: null, ...options }
}

/** Runs `code` in a Node process of its own, with the built store as `sqlite`; resolves with what it prints. */
export function runProcess(code: string): Promise<string> {
  const url = new URL('../../dist/stores/sqlite/index.js', import.meta.url).href
  const script = `import { sqlite } from ${JSON.stringify(url)}\n${code}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script])
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0 && errors === '') resolve(output)
      else reject(new Error(`The process ended with ${code}: ${errors}`))
    })
  })
}
