import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { DatabaseOptions } from './database.ts'
import { dropGuard, newGuard } from './exit-guard.ts'

/** Starts the store's thread. */
export function startThread(options: DatabaseOptions): Worker {
  // Flags of the process, e.g. --input-type or a loader, are not meant for this file; the one that may be
  // needed is the one that some versions of Node want for node:sqlite.
  const execArgv = process.execArgv.filter((flag) => flag === '--experimental-sqlite')
  const guard = newGuard()
  const settings = { workerData: { options, guard }, execArgv, name: 'perdure-sqlite' }
  // Bundlers look for this very expression to find the thread's file.
  const worker = isSource()
    ? new Worker(builtFile(), settings)
    : new Worker(new URL('./thread.js', import.meta.url), settings)
  worker.on('exit', () => dropGuard(guard))
  return worker
}

/** Node cannot start a thread from TypeScript, so the tests of this project use the built file. */
function builtFile(): URL {
  const file = new URL('../../../dist/stores/sqlite/thread.js', import.meta.url)
  if (existsSync(file)) return file
  throw new Error(
    `${fileURLToPath(file)} is missing: the SQLite store runs its built thread. Use "npm run build".`,
  )
}

function isSource(): boolean {
  return import.meta.url.endsWith('.ts')
}
