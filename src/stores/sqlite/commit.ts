import { describe } from '../../core/describe.ts'
import type { Write, WriteResult } from '../../ports/store.ts'
import { advance } from './advance.ts'
import { control } from './control.ts'
import { create } from './create.ts'
import type { Database } from './database.ts'
import { deliver } from './deliver.ts'
import { isCallFailure } from './failures.ts'

/** Applies the writes of one call; throws if one of them meets an error that nobody foresaw. */
export function commit(database: Database, writes: readonly Write[], now: number): readonly WriteResult[] {
  return writes.map((write) => apply(database, write, now))
}

/**
 * The same, but an unforeseen error undoes and condemns only the write that met it. Slower, and used only
 * after `commit` has failed.
 */
export function commitOneByOne(
  database: Database,
  writes: readonly Write[],
  now: number,
): readonly WriteResult[] {
  return writes.map((write) => {
    try {
      return database.savepoint(() => apply(database, write, now))
    } catch (error) {
      if (isCallFailure(error)) throw error
      return { status: 'error', message: describe(error) }
    }
  })
}

function apply(database: Database, write: Write, now: number): WriteResult {
  switch (write.type) {
    case 'create':
      return create(database, write, now)
    case 'advance':
      return advance(database, write, now)
    case 'deliver':
      return deliver(database, write, now)
    case 'control':
      return control(database, write, now)
  }
}
