/**
 * What the arguments need before and after they are parsed. The parser turns every value that looks like a
 * number into one, so the key `007` would become 7 and the empty text 0; and it knows commands of one word only.
 */

/** No argument of a process can contain it, so it can mark a value without changing its meaning. */
const MARK = '\0'

/** Marks the values that the parser would take for numbers. */
export function markNumbers(args: readonly string[]): string[] {
  return args.map((arg) => {
    if (!arg.startsWith('-')) return marked(arg)
    const equals = arg.indexOf('=')
    return equals < 0 ? arg : arg.slice(0, equals + 1) + marked(arg.slice(equals + 1))
  })
}

/** Takes the marks off again, in arguments, options and lists of them. */
export function unmark(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(MARK) ? value.slice(MARK.length) : value
  return Array.isArray(value) ? value.map(unmark) : value
}

/**
 * Joins a group and its command, `runs list`, to one argument, which is the name that the parser knows it by.
 *
 * @param valued the options that may stand before the command and take the argument after them as their value
 */
export function joinGroup(args: readonly string[], group: string, valued: readonly string[]): string[] {
  const at = commandIndex(args, valued)
  const next = args[at + 1]
  if (args[at] !== group || next === undefined || next.startsWith('-')) return [...args]
  return [...args.slice(0, at), `${group} ${next}`, ...args.slice(at + 2)]
}

function commandIndex(args: readonly string[], valued: readonly string[]): number {
  let index = 0
  for (; index < args.length; index++) {
    const arg = args[index] ?? ''
    if (valued.includes(arg)) index += 1
    else if (!arg.startsWith('-')) break
  }
  return index
}

function marked(text: string): string {
  return Number.isFinite(Number(text)) ? MARK + text : text
}
