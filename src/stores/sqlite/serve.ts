import { describe } from '../../core/describe.ts'
import { anyDue } from './claim.ts'
import { commitOneByOne } from './commit.ts'
import type { Database } from './database.ts'
import { isCallFailure, resultCode, toStoreError } from './failures.ts'
import { execute, sharesTransaction, standsAlone } from './operations.ts'
import { packResults, unpackWrites } from './packing.ts'
import type { Method, Reply, Request } from './protocol.ts'

/** Where answers go, as soon as they are true. */
export type Answer = (replies: readonly Reply[]) => void

/**
 * Serves requests that were waiting together. Those that write share one transaction, and so one flush to
 * disk; each is answered after it, on its own. Reads follow, so that they see what was asked before them.
 */
export function serve(database: Database, requests: readonly Request[], answer: Answer): void {
  for (const group of split(requests)) {
    const writes = group.filter(sharesTransaction)
    if (writes.length > 0) answer(serveWrites(database, writes))
    for (const request of group) {
      if (!sharesTransaction(request)) answer([attempt(database, request, () => execute(database, request))])
    }
  }
}

/** Cuts the requests before and after each that stands alone. */
function split(requests: readonly Request[]): Request[][] {
  const groups: Request[][] = [[]]
  for (const request of requests) {
    if (standsAlone(request)) groups.push([request], [])
    else groups.at(-1)?.push(request)
  }
  return groups
}

function serveWrites(database: Database, requests: readonly Request[]): readonly Reply[] {
  const [first] = requests
  if (first !== undefined && requests.length === 1) return [serveWrite(database, first)]
  try {
    const results = database.write(() => requests.map((request) => execute(database, request)))
    return requests.map(({ id }, i) => ({ id, result: results[i] }))
  } catch (error) {
    // Who is to blame shows when each has its own transaction. A full disk may still hold the smaller ones.
    if (!isCallFailure(error) || resultCode(error) === 'FULL') {
      return requests.map((request) => serveWrite(database, request))
    }
    return requests.map(({ id }) => failed(database, id, error))
  }
}

function serveWrite(database: Database, request: Request): Reply {
  return attempt(database, request, () => {
    if (isIdleClaim(database, request)) return []
    try {
      return database.write(() => execute(database, request))
    } catch (error) {
      if (!isRequest(request, 'commit') || isCallFailure(error)) throw error
      const [writes, now] = request.args
      return packResults(database.write(() => commitOneByOne(database, unpackWrites(writes), now)))
    }
  })
}

/** An idle worker asks again and again: it must not take the write lock from others each time. */
function isIdleClaim(database: Database, request: Request): boolean {
  return isRequest(request, 'claim') && !anyDue(database, request.args[0])
}

function isRequest<M extends Method>(request: Request, method: M): request is Request<M> {
  return request.method === method
}

function attempt(database: Database, request: Request, body: () => unknown): Reply {
  try {
    return { id: request.id, result: body() }
  } catch (error) {
    return failed(database, request.id, error)
  }
}

function failed(database: Database, id: number, error: unknown): Reply {
  const { failure, message, cause } = toStoreError(error, database.path)
  database.noteFailure(error)
  return { id, failure: { failure, message, cause: cause === undefined ? '' : describe(cause) } }
}
