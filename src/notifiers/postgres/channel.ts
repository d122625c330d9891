import { createHash } from 'node:crypto'

/** PostgreSQL cuts longer names. */
const MAX_BYTES = 63

/** The channel of a schema. Channels belong to a database, so that schemas of the same name do not meet. */
export function channelOf(schema: string): string {
  const name = `perdure:${schema}`
  // Other characters could come out differently in the encoding of the database.
  if (name.length <= MAX_BYTES && /^[ -~]*$/.test(name)) return name
  return `perdure:${createHash('sha256').update(schema).digest('hex').slice(0, 48)}`
}

export function listenStatement(channel: string): string {
  return `LISTEN "${channel.replaceAll('"', '""')}"`
}

/**
 * Sends all messages in one round trip. Its own transaction, so that it works behind poolers; and one that does not wait
 * for the disk: of a crash right after it, everybody hears anyway.
 */
export function notifyStatement(channel: string, messages: readonly string[]): string {
  const calls = messages.map((message) => `pg_notify(${literal(channel)}, ${literal(message)})`)
  return `BEGIN; SET LOCAL synchronous_commit = off; SELECT ${calls.join(', ')}; COMMIT`
}

/** Of the form that means the same whatever `standard_conforming_strings` is. */
function literal(text: string): string {
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
