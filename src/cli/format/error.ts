import { escapeLines, escapeText } from './escape.ts'
import { jsonText } from './json.ts'

/** What causes are shown; the codec keeps no more of them. */
const MAX_CAUSES = 8
/** Of an `AggregateError`, so many members are shown. */
const MAX_MEMBERS = 10
const INDENT = '  '

/** An error on one line: name, code and the first line of the message. */
export function errorLine(error: unknown): string {
  return headline(error)[0] ?? ''
}

/**
 * An error with its causes (and the members of an `AggregateError`), one or more lines each, safe to print.
 *
 * @param stacks whether to show the stacks
 */
export function errorLines(error: unknown, { stacks }: { readonly stacks: boolean }): string[] {
  return linesOf(error, { stacks, depth: 0 })
}

function linesOf(error: unknown, walk: { readonly stacks: boolean; readonly depth: number }): string[] {
  const lines = [...headline(error), ...(walk.stacks ? stackLines(error) : [])]
  if (!(error instanceof Error) || walk.depth >= MAX_CAUSES) return lines
  const deeper = { ...walk, depth: walk.depth + 1 }
  if (error instanceof AggregateError) {
    const members: readonly unknown[] = error.errors
    for (const member of members.slice(0, MAX_MEMBERS)) lines.push(...under('- ', linesOf(member, deeper)))
    if (members.length > MAX_MEMBERS) lines.push(`${INDENT}… and ${members.length - MAX_MEMBERS} more`)
  }
  if (error.cause !== undefined) lines.push(...under('caused by ', linesOf(error.cause, deeper)))
  return lines
}

function headline(error: unknown): string[] {
  if (!(error instanceof Error)) return [`thrown: ${jsonText(error)}`]
  const code = 'code' in error && error.code !== undefined ? ` [${escapeText(String(error.code))}]` : ''
  const [first = '', ...rest] = escapeLines(error.message)
  return [`${escapeText(error.name)}${code}: ${first}`, ...rest.map((line) => INDENT + line)]
}

/** The frames, and the place in the source that some errors have above their message, which has been shown. */
function stackLines(error: unknown): string[] {
  if (!(error instanceof Error)) return []
  const lines = escapeLines(error.stack ?? '')
  const message = lines.findIndex((line) => line.startsWith(error.name))
  return [...lines.slice(0, Math.max(message, 0)), ...lines.filter((line) => /^\s+at /.test(line))]
}

function under(prefix: string, lines: readonly string[]): string[] {
  return lines.map((line, index) => INDENT + (index === 0 ? prefix : '') + line)
}
