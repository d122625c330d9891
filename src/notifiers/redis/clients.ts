import type { Redis, RedisOptions } from 'ioredis'
import { StoreError } from '../../core/errors.ts'
import type { Timings } from '../time.ts'
import { isClient, type RedisServer } from './arguments.ts'

type OwnOptions = RedisOptions & { readonly replyMapping: 'legacy' }

/** Makes a client that connects when it is told to, and once only: whoever uses it makes another one then. */
export async function makeClient(server: RedisServer, timings: Timings): Promise<Redis> {
  const options = {
    lazyConnect: true,
    retryStrategy: () => null,
    reconnectOnError: null,
    autoResubscribe: false,
    connectTimeout: timings.answer,
    keepAlive: timings.probe,
    replyMapping: 'legacy',
  } as const
  const client = await newClient(server, options)
  // It says so when it is lost; without a listener it would also print it.
  client.on('error', () => {})
  client.on('connect', () => client.stream.unref())
  return client
}

async function newClient(server: RedisServer, options: OwnOptions): Promise<Redis> {
  if (typeof server === 'object' && isClient(server)) return server.duplicate(options)
  const Client = await loadDriver()
  return typeof server === 'string' ? new Client(server, options) : new Client({ ...server, ...options })
}

/** Cuts the connection, also one that does not answer any more. */
export function discard(client: Redis): void {
  // There is none before it has begun to connect. Where there is one, `disconnect` would wait for it, and with it the
  // process, even if it is closed already.
  const stream: Redis['stream'] | undefined = client.stream
  if (stream === undefined) client.disconnect()
  else stream.destroy()
}

async function loadDriver(): Promise<typeof Redis> {
  try {
    // Of the early versions 5, `Redis` is no export that an ES module could name.
    const { default: driver } = await import('ioredis')
    return driver.default
  } catch (error) {
    throw new StoreError(
      'missing-driver',
      'The notifier over Redis needs the package "ioredis". Install it: npm install ioredis',
      { cause: error },
    )
  }
}
