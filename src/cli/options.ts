import { usageError } from './cli-error.ts'

/** The options of a command line as they were parsed, by name in camel case. */
export type Options = Readonly<Record<string, unknown>>

/** The value of an option that takes one text. */
export function textOption(options: Options, name: string): string | undefined {
  const value = options[name]
  if (value === undefined || typeof value === 'string') return value
  if (Array.isArray(value)) throw usageError(`The option --${name} is given more than once.`)
  throw usageError(`The option --${name} takes a text, e.g. --${name}=TEXT.`)
}

/** The values of an option that may be repeated. */
export function textsOption(options: Options, name: string): readonly string[] | undefined {
  const value = options[name]
  if (value === undefined) return undefined
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  return values.map((each) => {
    if (typeof each === 'string') return each
    throw usageError(`The option --${name} takes a text, e.g. --${name}=TEXT.`)
  })
}

/** The value of an option that takes a whole number. */
export function wholeOption(
  options: Options,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const text = textOption(options, name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw usageError(`The option --${name} takes a whole number from ${min} to ${max}, not "${text}".`)
}

/** Whether a switch is on. */
export function flagOption(options: Options, name: string): boolean {
  return options[name] === true
}

/** Without the properties that are `undefined`: an option that was not given is not passed on. */
export function given<T extends object>(values: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const present = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present) as { [Key in keyof T]?: Exclude<T[Key], undefined> }
}
