/** The entry of the store's thread: takes what is waiting in its queue, serves it together, sleeps. */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { Database, type DatabaseOptions } from './database.ts'
import { type Connection, loadDriver, type OpenConnection } from './driver.ts'
import { type Guard, guarded } from './exit-guard.ts'
import type { Request } from './protocol.ts'
import { serve } from './serve.ts'

/** What the thread is started with. */
export interface ThreadData {
  readonly options: DatabaseOptions
  readonly guard: Guard
}

/** A transaction that grew without end would keep everyone waiting for the first answer. */
const LARGEST_BATCH = 256

if (parentPort === null) throw new Error('This file is the entry of a worker thread; do not import it.')
await listen(parentPort, workerData)

async function listen(port: MessagePort, { options, guard }: ThreadData): Promise<void> {
  const database = new Database(await driver(options), options)
  port.on('message', (first: Request) => {
    const requests = [first]
    while (requests.length < LARGEST_BATCH) {
      const next = receiveMessageOnPort(port)
      if (next === undefined) break
      requests.push(next.message)
    }
    guarded(guard, () => serve(database, requests, (replies) => port.postMessage(replies)))
  })
}

/** A driver that cannot be loaded is reported by every call, not by the death of the thread. */
async function driver(options: DatabaseOptions): Promise<OpenConnection> {
  try {
    return await loadDriver(options.driver)
  } catch (error) {
    return (): Connection => {
      throw error
    }
  }
}
