import type { Document } from 'mongodb'
import type { Context } from './connection.ts'
import { isUnknownCommand } from './failures.ts'

/** What the server's clock says, in epoch ms. */
export async function clock({ collections: { db } }: Context): Promise<number> {
  const greeting: Document = await db.command({ hello: 1 }).catch(async (error: unknown) => {
    // Servers that only speak its protocol may know nothing but the old name.
    if (!isUnknownCommand(error)) throw error
    return await db.command({ isMaster: 1 })
  })
  const now: unknown = greeting['localTime']
  return now instanceof Date ? now.getTime() : Number.NaN
}
