import type { CommandSpec } from '../command.ts'
import { controlRun } from '../control-run.ts'

/** `perdure runs pause`. */
export const runsPauseCommand: CommandSpec = {
  usage: 'runs pause <id>',
  description: 'Set a run aside until it is resumed',
  options: [],
  async action(context, [id = ''], options) {
    return await controlRun(context, options, {
      id,
      ask: (engine) => engine.pause(id),
      pending: ({ pauseRequested }) =>
        pauseRequested ? 'it pauses as soon as the steps that run have ended' : null,
    })
  },
}
