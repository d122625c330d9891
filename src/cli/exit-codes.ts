import { isPerdureError } from '../index.ts'

/** What the exit code of the command line says. Stable: scripts decide by it. */
export const EXIT = {
  /** Done; `run`: the run completed. */
  ok: 0,
  /** `run`: the run failed. Any command: something went wrong that has no code of its own. */
  failed: 1,
  /** `run`: the run was cancelled. */
  cancelled: 2,
  /** `run`: the run is paused, so it will not end until somebody resumes it. */
  paused: 3,
  /** The command line, or a value in it, cannot be used. Nothing was done. */
  usage: 64,
  /** What was named does not exist: a module, a workflow, a run, a store. */
  notFound: 65,
  /** What was asked for cannot be done in the state that the run is in. */
  refused: 66,
  /** The store cannot be used: locked, full, damaged, read-only, of a newer version. */
  store: 69,
} as const

/** One line per exit code, for `--help`. */
export const EXIT_HELP: readonly (readonly [code: string, meaning: string])[] = [
  ['0', 'done; run: the run completed'],
  ['1', 'run: the run failed; or an error that has no code of its own'],
  ['2', 'run: the run was cancelled'],
  ['3', 'run: the run is paused'],
  ['64', 'the command line, or a value in it, cannot be used'],
  ['65', 'a module, workflow, run or store that was named does not exist'],
  ['66', "the run's state does not allow it, or its key or id is taken"],
  ['69', 'the store cannot be used'],
  ['130, 143', 'interrupted by SIGINT, SIGTERM (work ends with 0 if it could close in order)'],
]

const byCode: ReadonlyMap<string, number> = new Map<string, number>([
  ['INVALID_ARGUMENT', EXIT.usage],
  ['INVALID_DURATION', EXIT.usage],
  ['INVALID_INPUT', EXIT.usage],
  ['INVALID_NAME', EXIT.usage],
  ['UNSERIALIZABLE_VALUE', EXIT.usage],
  ['VALUE_TOO_LARGE', EXIT.usage],
  ['UNKNOWN_WORKFLOW', EXIT.notFound],
  ['RUN_NOT_FOUND', EXIT.notFound],
  ['MODULE_NOT_FOUND', EXIT.notFound],
  ['NO_WORKFLOWS', EXIT.notFound],
  ['STORE_NOT_FOUND', EXIT.notFound],
  ['USAGE', EXIT.usage],
  ['RUN_STATE', EXIT.refused],
  ['RUN_CONFLICT', EXIT.refused],
  ['RUN_CANCELLED', EXIT.cancelled],
])

/** The exit code for an error that ended a command. */
export function exitCodeOf(error: unknown): number {
  if (!isPerdureError(error)) return EXIT.failed
  const known = byCode.get(error.code)
  if (known !== undefined) return known
  return error.code.startsWith('STORE_') ? EXIT.store : EXIT.failed
}
