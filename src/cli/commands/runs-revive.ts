import type { CommandSpec } from '../command.ts'
import { controlRun } from '../control-run.ts'

/** `perdure runs revive`. */
export const runsReviveCommand: CommandSpec = {
  usage: 'runs revive <id>',
  description: 'Start a failed or cancelled run over; what succeeded is not done again',
  options: [],
  async action(context, [id = ''], options) {
    return await controlRun(context, options, { id, ask: (engine) => engine.revive(id), pending: () => null })
  },
}
