import { usageError } from '../cli-error.ts'
import type { CommandSpec } from '../command.ts'

/** `perdure runs` without a command of the group. */
export const runsCommand: CommandSpec = {
  usage: 'runs',
  description: 'Look at runs and control them: list, show, cancel, pause, resume, revive',
  options: [],
  action() {
    throw usageError('Say what to do: perdure runs list, show, cancel, pause, resume or revive.')
  },
}
