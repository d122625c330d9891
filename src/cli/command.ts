import type { Context } from './context.ts'
import type { Options } from './options.ts'

/** A command: what the parser needs to know of it, and what it does. */
export interface CommandSpec {
  /** Its name and arguments, e.g. `runs show <id>`. */
  readonly usage: string
  readonly description: string
  readonly options: readonly (readonly [flags: string, description: string])[]
  readonly examples?: readonly string[]
  /** Returns the exit code. `args` are as many as the usage requires. */
  action(context: Context, args: readonly string[], options: Options): Promise<number>
}
