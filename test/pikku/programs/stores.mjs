import { memory } from 'perdure/memory'
import { mongo } from 'perdure/mongo'
import { postgres } from 'perdure/postgres'
import { sqlite } from 'perdure/sqlite'

/** The store at a place; none is one in memory. */
export async function openStore({ place }) {
  if (place === null) return memory()
  const { database, name } = place
  if (/^postgres(ql)?:/.test(database)) return postgres(database, { schema: name })
  if (database.startsWith('mongodb')) return mongo(database, { prefix: `${name}_` })
  return sqlite(database)
}
