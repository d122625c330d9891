import type { Pool, PoolClient, PoolConfig } from 'pg'
import { StoreError } from '../../core/errors.ts'

/** Makes a pool of `pg`, which is loaded when it is first needed. */
export async function openPool(config: PoolConfig): Promise<Pool> {
  const { default: pg } = await loadDriver()
  const pool = new pg.Pool(config)
  guard(pool)
  return pool
}

/**
 * Keeps errors that nobody waits for from ending the process: those of connections that break while they are idle, and
 * of those that break in the moment when they were made. The pool replaces them.
 */
export function guard(pool: Pool): void {
  // Several stores may share a pool.
  if (guarded.has(pool)) return
  guarded.add(pool)
  if (pool.listenerCount('error') === 0) pool.on('error', ignore)
  pool.on('connect', hearErrors)
}

/** The same for a client that the pool may have made before it was guarded. */
export function hearErrors(client: PoolClient): void {
  if (!client.listeners('error').includes(ignore)) client.on('error', ignore)
}

const guarded = new WeakSet<Pool>()

function ignore(): void {}

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
