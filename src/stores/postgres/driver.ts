import type { Pool, PoolConfig } from 'pg'
import { StoreError } from '../../core/errors.ts'

/** Makes a pool of `pg`, which is loaded when it is first needed. */
export async function openPool(config: PoolConfig): Promise<Pool> {
  const { default: pg } = await loadDriver()
  const pool = new pg.Pool(config)
  // Of a connection that breaks while nobody uses it; the pool replaces it.
  pool.on('error', () => {})
  return pool
}

async function loadDriver(): Promise<typeof import('pg')> {
  try {
    return await import('pg')
  } catch (error) {
    throw new StoreError(
      'missing-driver',
      'The PostgreSQL store needs the package "pg". Install it: npm install pg',
      { cause: error },
    )
  }
}
