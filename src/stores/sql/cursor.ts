import { InvalidArgumentError } from '../../core/errors.ts'
import type { RunRecord } from '../../core/run.ts'
import type { RunFilter, RunPage } from '../../ports/store.ts'

/** The place of a run in a list, newest first. */
export type Position = Pick<RunRecord, 'createdAt' | 'id'>

/** The text by which `listRuns` finds the place where a page ended. */
export function encodeCursor({ createdAt, id }: Position): string {
  return JSON.stringify([createdAt, id])
}

/** The page that begins with these runs, of which one more than it holds was asked for. */
export function pageOf(runs: readonly RunRecord[], limit: number): RunPage {
  const page = runs.slice(0, limit)
  const last = page.at(-1)
  // Only a further match proves that there is a next page.
  const isLast = last === undefined || runs.length === page.length
  return { runs: page, cursor: isLast ? null : encodeCursor(last) }
}

/** @throws InvalidArgumentError if the filter's limit or cursor cannot be. */
export function checkPage({ limit, cursor }: RunFilter): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) {
    throw new InvalidArgumentError(`The limit of a list must be a number from 1 to 1,000, not ${limit}.`)
  }
  if (cursor !== undefined) decodeCursor(cursor)
}

/** @throws InvalidArgumentError if `cursor` is none of `encodeCursor`. */
export function decodeCursor(cursor: string): Position {
  const position = parse(cursor)
  const [createdAt, id] = Array.isArray(position) ? position : []
  if (typeof createdAt === 'number' && typeof id === 'string') return { createdAt, id }
  throw new InvalidArgumentError('The cursor is not one that listRuns returned. Pass it on unchanged.')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
