import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { createEngine, type Engine, type Store, StoreError } from '../index.ts'
import { mongo } from '../stores/mongo/index.ts'
import { postgres } from '../stores/postgres/index.ts'
import { sqlite } from '../stores/sqlite/index.ts'
import type { App } from './app.ts'
import { CliError } from './cli-error.ts'
import { type Context, contextLog } from './context.ts'
import { type Options, textOption } from './options.ts'

const DEFAULT_PATH = 'perdure.db'
const MEMORY = ':memory:'
const postgresUrl = /^postgres(ql)?:\/\//
const mongoUrl = /^mongodb(\+srv)?:\/\//

/** The store of `run` and `work`: `--store`, else PERDURE_STORE, else what the module exports, else `perdure.db`. */
export function storeToWork({ cwd, env }: Context, options: Options, app: App): Store {
  const location = namedLocation(options, env)
  if (location === undefined && app.store !== null) return app.store
  return storeAt(resolveLocation(location ?? DEFAULT_PATH, cwd))
}

/** The store that is to be migrated: as for `work`, but without a module. */
export function storeToMigrate({ cwd, env }: Context, options: Options): Store {
  return storeAt(resolveLocation(namedLocation(options, env) ?? DEFAULT_PATH, cwd))
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
  const location = resolveLocation(namedLocation(options, context.env) ?? DEFAULT_PATH, context.cwd)
  if (location === MEMORY || (!isUrl(location) && !existsSync(location))) {
    throw new CliError(
      'STORE_NOT_FOUND',
      `There is no store ${location}. Name one with --store or PERDURE_STORE; \`perdure work\`, \`perdure run\` and ` +
        '`perdure migrate` create it.',
    )
  }
  await refuseForeign(location)
  const engine = createEngine({ store: storeAt(location, readOnly), log: contextLog(context) })
  try {
    return await use(engine)
  } finally {
    await engine.close()
  }
}

/** Looks without writing, since the engine would create the tables that it misses. */
async function refuseForeign(location: string): Promise<void> {
  const reader = storeAt(location, true)
  try {
    const missing = await reader.migrate({ dryRun: true })
    if (missing.length > 0) throw foreign(reader.name)
  } catch (error) {
    if (error instanceof StoreError && error.failure === 'read-only') throw foreign(reader.name, error)
    throw error
  } finally {
    await reader.close()
  }
}

function foreign(name: string, cause?: unknown): CliError {
  return new CliError(
    'STORE_FOREIGN',
    `${name} is a database without the tables of this version of Perdure. Name another one with --store, or let ` +
      '`perdure migrate` or a worker create or update them.',
    { cause },
  )
}

function storeAt(location: string, readOnly = false): Store {
  if (postgresUrl.test(location)) return postgres(location)
  if (mongoUrl.test(location)) return mongo(location)
  return sqlite(location, { readOnly })
}

function isUrl(location: string): boolean {
  return postgresUrl.test(location) || mongoUrl.test(location)
}

function namedLocation(options: Options, env: Context['env']): string | undefined {
  return textOption(options, 'store') ?? (env['PERDURE_STORE'] || undefined)
}

function resolveLocation(location: string, cwd: string): string {
  return location === MEMORY || isUrl(location) ? location : resolve(cwd, location)
}
