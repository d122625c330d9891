import type { MongoClient, MongoClientOptions } from 'mongodb'
import { StoreError } from '../../core/errors.ts'

/** Makes a client of `mongodb`, which is loaded when it is first needed. It connects with its first call. */
export async function openClient(url: string, options: MongoClientOptions): Promise<MongoClient> {
  const driver = await loadDriver()
  return new driver.MongoClient(url, options)
}

async function loadDriver(): Promise<typeof import('mongodb')> {
  try {
    return await import('mongodb')
  } catch (error) {
    throw new StoreError(
      'missing-driver',
      'The MongoDB store needs the package "mongodb". Install it: npm install mongodb',
      { cause: error },
    )
  }
}
