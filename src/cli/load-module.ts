import { isPerdureError } from '../index.ts'
import { type App, findApp } from './app.ts'
import { CliError } from './cli-error.ts'
import { codeOf, importModule } from './module-url.ts'

/**
 * Loads the module that the user named and finds its workflows.
 *
 * @throws CliError MODULE_NOT_FOUND, MODULE_FAILED with what the module threw as its cause, NO_WORKFLOWS
 */
export async function loadApp(specifier: string, cwd: string): Promise<App> {
  const place = { cwd, platform: process.platform }
  try {
    return findApp(await importModule(specifier, place), specifier)
  } catch (error) {
    if (isPerdureError(error) && error.name === 'CliError') throw error
    throw new CliError('MODULE_FAILED', `${specifier} cannot be imported: ${String(error)}${hint(error)}`, {
      cause: error,
    })
  }
}

function hint(error: unknown): string {
  if (error instanceof SyntaxError) return '. If no place is shown below, `node --check FILE` shows it.'
  if (codeOf(error) !== 'ERR_UNKNOWN_FILE_EXTENSION') return ''
  return (
    '. This version of Node does not run TypeScript by itself: name the compiled file, or start perdure with a ' +
    'loader, e.g. NODE_OPTIONS="--import tsx".'
  )
}
