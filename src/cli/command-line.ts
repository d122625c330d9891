import { readFileSync } from 'node:fs'
import { type CAC, cac } from 'cac'
import { joinGroup, markNumbers, unmark } from './arguments.ts'
import { usageError } from './cli-error.ts'
import type { CommandSpec } from './command.ts'
import { commands } from './commands/index.ts'
import { EXIT_HELP } from './exit-codes.ts'
import type { Options } from './options.ts'

/** What a command line asks for. */
export interface Invocation {
  readonly command: CommandSpec
  readonly args: readonly string[]
  readonly options: Options
}

/**
 * Reads a command line.
 *
 * @returns `null` if it asked for help or the version, which has been printed
 * @throws CliError USAGE
 */
export function readCommandLine(argv: readonly string[]): Invocation | null {
  const parser = makeParser()
  // The parser expects the paths of Node and of the script first.
  const given = ['', '', ...joinGroup(markNumbers(argv), 'runs', ['--store'])]
  const { args, options } = parser.parse(given, { run: false })
  if (options['help'] === true) return null
  if (options['version'] === true) {
    // With a command the parser has not printed it.
    if (parser.matchedCommandName !== undefined) parser.outputVersion()
    return null
  }
  const command = commands.find(({ usage }) => nameOf(usage) === parser.matchedCommandName)
  if (command === undefined) throw unknownCommand(args[0])
  check(parser)
  return { command, args: args.map(asText), options: unmarked(options) }
}

function makeParser(): CAC {
  const parser = cac('perdure')
  parser.option(
    '--store <location>',
    'SQLite file, or postgres://… or mongodb://… (default: PERDURE_STORE, else perdure.db)',
  )
  parser.option('--json', 'Print JSON: one document, of `work` one per line; errors too, to standard error')
  parser.option('--verbose', 'Print more: what happens, and the stacks of errors')
  for (const { usage, description, options, examples = [] } of commands) {
    const command = parser.command(usage, description)
    for (const [flags, meaning] of options) command.option(flags, meaning)
    for (const example of examples) command.example(`  ${example}`)
  }
  parser.help((sections) => {
    const { matchedCommand } = parser
    return [...tidy(sections), ...(matchedCommand ? groupSections(matchedCommand.name) : helpSections)]
  })
  parser.usage('<command> [options]      (perdure <command> --help tells more)')
  parser.version(readVersion())
  return parser
}

const helpSections = [
  {
    title: 'Module',
    body: [
      '  A path, or the name of a package. All exported workflows count: one by one, in lists, or in',
      '  `export default { workflows, functions, store }`; so do exports named `functions` and `store`.',
      '  The store is that of --store, of PERDURE_STORE, of the module, or perdure.db: the first that is given.',
    ].join('\n'),
  },
  {
    title: 'Exit codes',
    body: EXIT_HELP.map(([code, meaning]) => `  ${code.padEnd(9)} ${meaning}`).join('\n'),
  },
]

/** Leaves out what only fills the page: a line per command about `--help`, and the defaults of switches. */
function tidy(sections: readonly HelpSection[]): HelpSection[] {
  return sections
    .filter(({ title = '' }) => !title.startsWith('For more info'))
    .map(({ body, ...rest }) => ({ ...rest, body: body.replace(/ *(\(default: true\))?$/gm, '') }))
}

/** What the help of a group, `runs`, adds: its commands. */
function groupSections(group: string): HelpSection[] {
  const members = commands.filter(({ usage }) => usage.startsWith(`${group} `) && nameOf(usage) !== group)
  const lines = members.map(({ usage, description }) => `  ${usage.padEnd(18)} ${description}`)
  return lines.length === 0 ? [] : [{ title: 'Commands', body: lines.join('\n') }]
}

interface HelpSection {
  readonly title?: string
  readonly body: string
}

/** What the parser checks by itself only when it calls the command too. */
function check({ matchedCommand }: CAC): void {
  try {
    matchedCommand?.checkUnknownOptions()
    matchedCommand?.checkOptionValue()
    matchedCommand?.checkRequiredArgs()
    matchedCommand?.checkUnusedArgs()
  } catch (error) {
    const message = asText(error instanceof Error ? error.message : error).replaceAll('\0', '')
    throw usageError(
      `${message[0]?.toUpperCase()}${message.slice(1)}. See: perdure ${matchedCommand?.name} --help`,
    )
  }
}

function unknownCommand(name: string | undefined): Error {
  const known = `Commands: ${commands.map(({ usage }) => nameOf(usage)).join(', ')}. See: perdure --help`
  if (name === undefined) return usageError(`No command is given. ${known}`)
  return usageError(`There is no command "${asText(name)}". ${known}`)
}

function nameOf(usage: string): string {
  return usage.replace(/ [<[].*/, '')
}

function unmarked(options: Options): Options {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, unmark(value)]))
}

function asText(value: unknown): string {
  return String(unmark(value))
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const { version } = manifest as { readonly version: string }
  return version
}
