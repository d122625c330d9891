import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { createEngine, type Engine, type Store, StoreError } from '../index.ts'
import { sqlite } from '../stores/sqlite/index.ts'
import type { App } from './app.ts'
import { CliError } from './cli-error.ts'
import { type Context, contextLog } from './context.ts'
import { type Options, textOption } from './options.ts'

const DEFAULT_PATH = 'perdure.db'
const MEMORY = ':memory:'

/** The store of `run` and `work`: `--store`, else PERDURE_STORE, else what the module exports, else `perdure.db`. */
export function storeToWork({ cwd, env }: Context, options: Options, app: App): Store {
  const path = namedPath(options, env)
  if (path === undefined && app.store !== null) return app.store
  return sqlite(resolvePath(path ?? DEFAULT_PATH, cwd))
}

/**
 * Uses an engine on a store that is there already, and closes it. Commands that only look, or tell a run something,
 * must neither create a file, nor tables in the database of some other program.
 *
 * @throws CliError STORE_NOT_FOUND, STORE_FOREIGN
 */
export async function withExistingStore<Result>(
  context: Context,
  options: Options,
  { readOnly, use }: { readonly readOnly: boolean; readonly use: (engine: Engine) => Promise<Result> },
): Promise<Result> {
  const path = resolvePath(namedPath(options, context.env) ?? DEFAULT_PATH, context.cwd)
  if (path === MEMORY || !existsSync(path)) {
    throw new CliError(
      'STORE_NOT_FOUND',
      `There is no store ${path}. Name one with --store PATH or PERDURE_STORE; \`perdure work\` and \`perdure run\` ` +
        'create it.',
    )
  }
  await refuseForeign(path)
  const engine = createEngine({ store: sqlite(path, { readOnly }), log: contextLog(context) })
  try {
    return await use(engine)
  } finally {
    await engine.close()
  }
}

/** Looks without writing, since the engine would create the tables that it misses. */
async function refuseForeign(path: string): Promise<void> {
  const reader = sqlite(path, { readOnly: true })
  try {
    await reader.migrate()
  } catch (error) {
    if (!(error instanceof StoreError) || error.failure !== 'read-only') throw error
    throw new CliError(
      'STORE_FOREIGN',
      `${path} is a database without the tables of this version of Perdure. Name another one with --store, or start ` +
        'a worker on it once, which creates or updates them.',
      { cause: error },
    )
  } finally {
    await reader.close()
  }
}

function namedPath(options: Options, env: Context['env']): string | undefined {
  return textOption(options, 'store') ?? (env['PERDURE_STORE'] || undefined)
}

function resolvePath(path: string, cwd: string): string {
  return path === MEMORY ? path : resolve(cwd, path)
}
