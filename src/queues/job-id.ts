import { createHash } from 'node:crypto'
import { InvalidNameError } from '../core/errors.ts'
import { checkKey, checkName } from '../core/names.ts'

/**
 * The id of a job: its type and its key within the type, each URI-encoded, joined by `/`. No two pairs make the same
 * text, because what is encoded holds no `/`; and whoever has the id knows the type, so the queue that it is in.
 */
export interface JobId {
  readonly text: string
  readonly jobType: string
}

const MAX_TYPE_LENGTH = 128
/** With the type, the slash and the prefix of a workflow's name, this stays within what ids of runs may have. */
const MAX_KEY_LENGTH = 120

/** @throws InvalidNameError */
export function jobIdOf(jobType: unknown, key: unknown): JobId {
  const type = checkJobType(jobType)
  const encoded = encodeURIComponent(checkKey(key, 'The jobId'))
  const short = encoded.length <= MAX_KEY_LENGTH ? encoded : `#${sha256(encoded)}`
  return { text: `${encodeURIComponent(type)}/${short}`, jobType: type }
}

/** @returns the type of a job, or `null` if no job can have this id */
export function jobTypeOf(id: unknown): string | null {
  const [type, key, ...rest] = typeof id === 'string' ? id.split('/') : []
  if (type === undefined || key === undefined || rest.length > 0) return null
  try {
    return decodeURIComponent(type)
  } catch {
    return null
  }
}

/** @throws InvalidNameError */
export function checkJobType(value: unknown): string {
  const type = checkName(value, 'The type of a job')
  const { length } = encodeURIComponent(type)
  if (length <= MAX_TYPE_LENGTH) return type
  throw new InvalidNameError(
    `The type of a job has ${length} characters once URI-encoded; at most ${MAX_TYPE_LENGTH} are allowed. Shorten it.`,
  )
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
