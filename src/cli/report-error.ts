import { isPerdureError } from '../index.ts'
import type { Context } from './context.ts'
import { errorLines } from './format/error.ts'
import { escapeLines, escapeText } from './format/escape.ts'
import { jsonDocument } from './format/json.ts'

/** Tells on standard error why a command ended. */
export function reportError(error: unknown, context: Context): void {
  for (const line of reportOf(error, context)) context.err(line)
}

/** Message and code; the stack only where it helps. */
function reportOf(error: unknown, { json, verbose, colours }: Context): string[] {
  // An error that nobody foresaw is a mistake, here or in the user's module: its stack says where.
  const stacks = verbose || !isPerdureError(error)
  if (json) return [jsonDocument({ error }, { stacks })]
  if (!isPerdureError(error) || verbose) return errorLines(error, { stacks })
  const [first = '', ...rest] = escapeLines(error.message)
  const lines = [`${colours.red('error')} [${escapeText(error.code)}]: ${first}`, ...rest]
  return error.code === 'MODULE_FAILED' ? [...lines, ...moduleTrace(error.cause)] : lines
}

/** Where in the user's module it went wrong: without what Node and this command line did to get there. */
function moduleTrace(error: unknown): string[] {
  const here = new URL('.', import.meta.url).href
  return errorLines(error, { stacks: true }).filter(
    (line) => !line.includes('node:internal') && !line.includes(here),
  )
}
