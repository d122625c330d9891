/** The store that a test has chosen. */
import { mongo } from 'perdure/mongo'
import { postgres } from 'perdure/postgres'
import { sqlite } from 'perdure/sqlite'

/** `place`: a file, or the URL of a server with a name that only this test uses. */
export function openStore({ database, name, options = {} }) {
  if (database.startsWith('postgres:')) return postgres(database, { schema: name, ...options })
  if (database.startsWith('mongodb:')) return mongo(database, { prefix: `${name}_`, ...options })
  return sqlite(database, options)
}
