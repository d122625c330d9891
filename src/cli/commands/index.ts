import type { CommandSpec } from '../command.ts'
import { migrateCommand } from './migrate.ts'
import { runCommand } from './run.ts'
import { runsCommand } from './runs.ts'
import { runsCancelCommand } from './runs-cancel.ts'
import { runsListCommand } from './runs-list.ts'
import { runsPauseCommand } from './runs-pause.ts'
import { runsResumeCommand } from './runs-resume.ts'
import { runsReviveCommand } from './runs-revive.ts'
import { runsShowCommand } from './runs-show.ts'
import { workCommand } from './work.ts'

/** All commands, in the order in which the help lists them. */
export const commands: readonly CommandSpec[] = [
  runCommand,
  workCommand,
  migrateCommand,
  runsCommand,
  runsListCommand,
  runsShowCommand,
  runsCancelCommand,
  runsPauseCommand,
  runsResumeCommand,
  runsReviveCommand,
]
