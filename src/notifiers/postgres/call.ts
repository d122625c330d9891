import type { Pool, PoolClient } from 'pg'
import { inTime } from '../time.ts'

/** Makes one call on a connection of the pool, which is replaced if the call fails or takes too long. */
export async function call(pool: Pool, text: string, limitMs: number): Promise<void> {
  const client = await connect(pool, limitMs)
  // An error of a connection in use that nobody hears would end the process.
  client.on('error', ignore)
  try {
    await inTime(client.query(text), limitMs)
    client.release()
  } catch (error) {
    client.release(true)
    throw error
  } finally {
    client.off('error', ignore)
  }
}

async function connect(pool: Pool, limitMs: number): Promise<PoolClient> {
  const connecting = pool.connect()
  try {
    return await inTime(connecting, limitMs)
  } catch (error) {
    // One that comes after all is not kept from the others.
    connecting.then(
      (client) => client.release(),
      () => {},
    )
    throw error
  }
}

function ignore(): void {}
