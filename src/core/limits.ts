/**
 * The limits of what users hand over. Those of names and values are errors with a message; parts of errors are cut, and
 * times are clamped. Bytes are bytes of UTF-8. `DEFAULT_…` can be configured, `MAX_…` cannot.
 */

/** Longest name of a workflow, step, event, queue, function, tag or checkpoint, in bytes. */
export const MAX_NAME_BYTES = 256

/** Longest dedupe key, in bytes. */
export const MAX_KEY_BYTES = 1024

/** Longest id of a run, event or worker that a caller may choose, in bytes. */
export const MAX_ID_BYTES = 256

/** Most tags that one run may carry. */
export const MAX_TAGS = 32

/** Largest encoded value (input, result, event, checkpoint), in bytes: 1 MiB. Option `maxValueBytes`. */
export const DEFAULT_MAX_VALUE_BYTES = 1024 * 1024

/**
 * Deepest nesting of objects in one value. Encoding and decoding recurse: without a limit well below what
 * the stack holds, a value could be written that a caller deeper in the stack cannot read back.
 */
export const MAX_VALUE_DEPTH = 500

/** Most journal entries that one run may have. */
export const DEFAULT_MAX_JOURNAL_ENTRIES = 10_000

/** Runs that one worker executes at the same time. */
export const DEFAULT_CONCURRENCY = 100

/** Most delays in one retry schedule. */
export const MAX_SCHEDULE_LENGTH = 1000

/** Longest stored message of an error, in UTF-16 units: 16 Ki. */
export const MAX_ERROR_MESSAGE = 16 * 1024

/** Longest stored stack of an error, in UTF-16 units: 4 Ki. */
export const MAX_ERROR_STACK = 4 * 1024

/** How many causes of an error are kept, and looked through for `permanent`. */
export const MAX_ERROR_CAUSES = 8

/** Most members of an `AggregateError` that are kept. */
export const MAX_ERROR_MEMBERS = 16

/** Most errors (causes, members, errors in fields) that are kept in one encoded error. */
export const MAX_ERROR_NODES = 50

/** Most own fields of one error that are kept. */
export const MAX_ERROR_FIELDS = 100

/** Largest encoded field of an error, in bytes: 16 KiB. */
export const MAX_ERROR_FIELD_BYTES = 16 * 1024

/** Largest encoded error, in bytes: 64 KiB. */
export const MAX_ERROR_BYTES = 64 * 1024

/** The last valid time of a JavaScript `Date`, in epoch ms: 13 September 275760. */
export const MAX_TIME = 8.64e15
