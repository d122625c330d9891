import type { CommandSpec } from '../command.ts'
import { controlRun } from '../control-run.ts'
import { textOption } from '../options.ts'

/** `perdure runs cancel`. */
export const runsCancelCommand: CommandSpec = {
  usage: 'runs cancel <id>',
  description: 'Cancel a run; its code is told once, so that it can clean up',
  options: [['--reason <text>', 'Why; the run and its history keep it']],
  async action(context, [id = ''], options) {
    const reason = textOption(options, 'reason')
    return await controlRun(context, options, {
      id,
      ask: (engine) => engine.cancel(id, reason),
      pending: ({ endedAt }) =>
        endedAt === null ? 'it is cancelled as soon as a worker has told its code' : null,
    })
  },
}
