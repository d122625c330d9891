import { InvalidArgumentError } from '../../core/errors.ts'
import type { RunRecord } from '../../core/run.ts'

/** The place of a run in a list, newest first. */
export type Position = Pick<RunRecord, 'createdAt' | 'id'>

/** The text by which `listRuns` finds the place where a page ended. */
export function encodeCursor({ createdAt, id }: Position): string {
  return JSON.stringify([createdAt, id])
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
