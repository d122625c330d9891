import { PerdureError, type PerdureErrorOptions } from '../index.ts'

/** What only the command line can find wrong; `exit-codes.ts` has the exit code of each. */
export type CliErrorCode =
  | 'USAGE'
  | 'MODULE_NOT_FOUND'
  | 'MODULE_FAILED'
  | 'NO_WORKFLOWS'
  | 'STORE_NOT_FOUND'
  | 'STORE_FOREIGN'

/** An error of the command line itself, as opposed to one of the engine. */
export class CliError extends PerdureError {
  constructor(code: CliErrorCode, message: string, options?: PerdureErrorOptions) {
    super(code, message, options)
    this.name = 'CliError'
  }
}

/** The command line, or a value in it, cannot be used. */
export function usageError(message: string): CliError {
  return new CliError('USAGE', message)
}
