import type { CommandSpec } from '../command.ts'
import { controlRun } from '../control-run.ts'

/** `perdure runs resume`. */
export const runsResumeCommand: CommandSpec = {
  usage: 'runs resume <id>',
  description: 'Let a paused run go on',
  options: [],
  async action(context, [id = ''], options) {
    return await controlRun(context, options, { id, ask: (engine) => engine.resume(id), pending: () => null })
  },
}
