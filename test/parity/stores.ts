import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, onTestFinished } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { MemoryData, memory } from '../../src/stores/memory/index.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { openPlace, placeOn, removePlace } from '../processes/places.ts'
import { freshSchema } from '../services/schema.ts'
import { serviceOrSkip } from '../services/service.ts'

const postgresUrl = await serviceOrSkip('postgres')
const mongoUrl = await serviceOrSkip('mongo')

/** Opens the database of one test. Every call gives a store of its own, as another process would have. */
export type Open = () => Store

const kinds: Readonly<Record<string, () => Open>> = {
  memory: () => {
    const data = new MemoryData()
    return () => memory({ data })
  },
  SQLite: () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-parity-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    return () => sqlite(join(folder, 'work.db'))
  },
  ...(postgresUrl !== null && {
    PostgreSQL: () => {
      const { schema, dispose } = freshSchema(postgresUrl)
      onTestFinished(dispose)
      return () => postgres(postgresUrl, { schema })
    },
  }),
  ...(mongoUrl !== null && {
    MongoDB: () => {
      const place = placeOn(mongoUrl)
      onTestFinished(() => removePlace(place))
      return () => openPlace(place)
    },
  }),
}

/** Registers tests for each store. Each test asks for a database of its own. */
export function forEachStore(tests: (database: () => Open) => void): void {
  describe.each(Object.entries(kinds))('on %s', (_, make) => tests(() => closing(make())))
}

/** Each store by its name, and how to open one on a database of its own. */
export const freshStores: readonly (readonly [string, () => Promise<Store>])[] = Object.entries(kinds).map(
  ([name, make]) => [name, async () => closing(make())()] as const,
)

/** A database in memory. */
export function memoryDatabase(): Open {
  const data = new MemoryData()
  return () => memory({ data })
}

function closing(open: Open): Open {
  return () => {
    const store = open()
    onTestFinished(() => store.close())
    return store
  }
}
