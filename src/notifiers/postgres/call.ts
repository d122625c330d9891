import type { Pool, PoolClient } from 'pg'
import { inTime } from '../time.ts'

/** Makes one call on a connection of the pool, which is replaced if the call fails or takes too long. */
export async function call(pool: Pool, text: string, limitMs: number): Promise<void> {
  const client = await connect(pool, limitMs)
  try {
    await inTime(client.query(text), limitMs)
    giveBack(client)
  } catch (error) {
    giveBack(client, true)
    throw error
  }
}

/**
 * Takes a connection. An error of one in use that nobody hears would end the process; so somebody listens from the
 * moment at which the pool ceases to, and that is not when a promise is resolved, but right before.
 */
function connect(pool: Pool, limitMs: number): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      reject(new Error(`no connection within ${limitMs} ms`))
    }, limitMs)
    pool.connect((error, client) => {
      clearTimeout(timer)
      client?.on('error', ignore)
      if (client === undefined) reject(error)
      // Nobody waits any more: others may have it.
      else if (isLate) giveBack(client)
      else resolve(client)
    })
  })
}

function giveBack(client: PoolClient, isBroken = false): void {
  client.release(isBroken)
  client.off('error', ignore)
}

function ignore(): void {}
