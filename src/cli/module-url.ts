import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { posix, win32 } from 'node:path'
import { pathToFileURL } from 'node:url'
import { constants, Script } from 'node:vm'
import { CliError } from './cli-error.ts'

/** Where a module is looked for. */
export interface ModulePlace {
  readonly cwd: string
  /** `process.platform`; on Windows paths have drives and backslashes. */
  readonly platform: string
}

/**
 * The file URL of a path. `import()` takes no Windows path (its drive looks like the scheme of a URL), and in a URL
 * spaces, `#` and `%` of a path must be escaped.
 */
export function pathUrl(path: string, { cwd, platform }: ModulePlace): string {
  const windows = platform === 'win32'
  return pathToFileURL((windows ? win32 : posix).resolve(cwd, path), { windows }).href
}

/** Whether a specifier can only be a path, not the name of a package. */
export function isPath(specifier: string, { platform }: Pick<ModulePlace, 'platform'>): boolean {
  const windows = platform === 'win32'
  if (/^\.{1,2}$/.test(specifier) || /^\.{0,2}\//.test(specifier)) return true
  return (
    windows && (/^\.{0,2}\\/.test(specifier) || win32.isAbsolute(specifier) || /^[a-z]:/i.test(specifier))
  )
}

/**
 * Imports what the user named: a file, by its path from `cwd`, else a package that can be resolved from there.
 *
 * @throws CliError MODULE_NOT_FOUND if there is neither; whatever the module throws
 */
export async function importModule(specifier: string, place: ModulePlace): Promise<unknown> {
  if (specifier.startsWith('file:')) return await import(specifier)
  const url = pathUrl(specifier, place)
  if (existsSync(new URL(url))) return await import(url)
  if (isPath(specifier, place)) throw notFound(specifier, `There is no file ${specifier}`, place)
  return await importPackage(specifier, place)
}

async function importPackage(name: string, place: ModulePlace): Promise<unknown> {
  const from = pathUrl('perdure', place)
  try {
    const resolved = createRequire(from).resolve(name)
    return await import(
      posix.isAbsolute(resolved) || win32.isAbsolute(resolved) ? pathUrl(resolved, place) : name
    )
  } catch (error) {
    const code = codeOf(error)
    if (code === 'MODULE_NOT_FOUND')
      throw notFound(name, `There is neither a file nor a package ${name}`, place)
    if (code !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') throw error
  }
  return await importFrom(from, name)
}

/**
 * Imports as a module at `url` would. Only for packages that have no entry for `require`, which no stable
 * interface resolves from elsewhere: Node warns that this one is experimental.
 */
async function importFrom(url: string, specifier: string): Promise<unknown> {
  const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
  const script = new Script('(specifier) => import(specifier)', { filename: url, importModuleDynamically })
  const load = script.runInThisContext() as (specifier: string) => Promise<unknown>
  return await load(specifier)
}

function notFound(specifier: string, message: string, { cwd }: ModulePlace): CliError {
  const hint = specifier.startsWith('.') ? '' : ' Name a file like this: ./app.mjs'
  return new CliError('MODULE_NOT_FOUND', `${message} (looked from ${cwd}).${hint}`)
}

/** The `code` of whatever was thrown. */
export function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}
