/** The parts of a run that the store keeps as encoded text. */
import { decodeError, decodeValue, type RunRecord } from '../index.ts'

/** A value, or why it cannot be read: one damaged value must not hide the rest of a run. */
export type Decoded = { readonly value: unknown } | { readonly unreadable: string }

/** The input of a run. */
export function inputOf(run: RunRecord): Decoded {
  return guarded(() => decodeValue(run.input))
}

/** The output of a run, or `null` if it has none. */
export function outputOf({ output }: RunRecord): Decoded | null {
  return output === null ? null : guarded(() => decodeValue(output))
}

/** The error of a run, or `null` if it has none. */
export function errorOf({ error }: RunRecord): Decoded | null {
  return error === null ? null : guarded(() => decodeError(error))
}

function guarded(decode: () => unknown): Decoded {
  try {
    return { value: decode() }
  } catch (error) {
    return { unreadable: error instanceof Error ? error.message : String(error) }
  }
}
