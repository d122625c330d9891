import { type Engine, RunNotFoundError, type RunRecord } from '../index.ts'
import type { Context } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { statusPaint } from './format/colours.ts'
import { escapeText } from './format/escape.ts'
import { jsonDocument } from './format/json.ts'
import { runJson } from './format/run.ts'
import { withExistingStore } from './open-store.ts'
import type { Options } from './options.ts'

/** What an operator asks of a run. */
export interface RunRequest {
  readonly id: string
  readonly ask: (engine: Engine) => Promise<void>
  /** Told when the run will do it later; `null` if it has been done. */
  readonly pending: (run: RunRecord) => string | null
}

/** Asks something of a run and prints the state that it is in now. */
export async function controlRun(context: Context, options: Options, request: RunRequest): Promise<number> {
  const { id, ask, pending } = request
  const run = await withExistingStore(context, options, {
    readOnly: false,
    use: async (engine) => {
      await ask(engine)
      return await engine.getRun(id)
    },
  })
  if (run === null) throw new RunNotFoundError(id)
  const { out, json, verbose, colours } = context
  if (json) out(jsonDocument(runJson(run, { stacks: verbose })))
  else {
    const note = pending(run)
    const status = statusPaint(run.status, colours)(run.status)
    out(`Run ${escapeText(run.id)}: ${status}${note === null ? '' : `; ${note}`}`)
  }
  return EXIT.ok
}
