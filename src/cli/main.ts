#!/usr/bin/env node
import { readCommandLine } from './command-line.ts'
import { type Context, processContext } from './context.ts'
import { EXIT, exitCodeOf } from './exit-codes.ts'
import { flagOption } from './options.ts'
import { reportError } from './report-error.ts'

/** Runs the command line; returns the exit code. */
async function main(argv: readonly string[]): Promise<number> {
  // A command line that cannot be read must be reported in the form that it seems to ask for.
  let context = contextOf(argv.includes('--json'), argv.includes('--verbose'))
  try {
    const invocation = readCommandLine(argv)
    if (invocation === null) return EXIT.ok
    const { command, args, options } = invocation
    context = contextOf(flagOption(options, 'json'), flagOption(options, 'verbose'))
    return await command.action(context, args, options)
  } catch (error) {
    reportError(error, context)
    return exitCodeOf(error)
  }
}

function contextOf(json: boolean, verbose: boolean): Context {
  return processContext(process, { json, verbose })
}

/** The user's module may hold the process open, so it is ended, but not before all output is on its way. */
function exitWith(code: number): void {
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)))
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever read the output, e.g. `head`, has had enough of it.
  if (error.code === 'EPIPE') process.exit(EXIT.ok)
  throw error
})

exitWith(await main(process.argv.slice(2)))
