import picocolors from 'picocolors'
import type { RunStatus } from '../../index.ts'

/** Paints text for a terminal, or leaves it as it is. */
export interface Colours {
  bold(text: string): string
  dim(text: string): string
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
  blue(text: string): string
  cyan(text: string): string
}

/** Colours, if they are wanted. */
export function createColours(enabled: boolean): Colours {
  return picocolors.createColors(enabled)
}

/** Whether to use colours: only for people, and only for those who have not asked for none (no-color.org). */
export function wantsColours(
  isTerminal: boolean,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  return isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
}

/** The colour of a run's status. */
export function statusPaint(status: RunStatus, colours: Colours): (text: string) => string {
  switch (status) {
    case 'pending':
    case 'waiting':
      return colours.cyan
    case 'running':
      return colours.blue
    case 'paused':
    case 'cancelled':
      return colours.yellow
    case 'completed':
      return colours.green
    case 'failed':
      return colours.red
    default:
      // A newer version of the package may have written a status that this one does not know.
      status satisfies never
      return (text) => text
  }
}
