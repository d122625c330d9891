import { once } from 'node:events'
import { createServer } from 'node:http'
import { onTestFinished } from 'vitest'

/** A server on this machine that answers with the statuses that it is given, one request after another. */
export interface StatusServer {
  readonly url: string
  /** How many requests it has had. */
  readonly requests: number
  close(): Promise<void>
}

/** Starts a server; its last status is that of all further answers. */
export async function statusServer(...statuses: readonly number[]): Promise<StatusServer> {
  let requests = 0
  const server = createServer((_, response) => {
    const status = statuses[Math.min(requests, statuses.length - 1)] ?? 200
    requests += 1
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ status }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  onTestFinished(close)
  return {
    url: `http://127.0.0.1:${address.port}/`,
    get requests() {
      return requests
    },
    close,
  }
}
