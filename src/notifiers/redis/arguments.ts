import type { Redis, RedisOptions } from 'ioredis'
import { InvalidArgumentError } from '../../core/errors.ts'

/** What a notifier over Redis can be made of. */
export type RedisServer = string | RedisOptions | Redis

const NEEDED =
  'redisNotifier needs a URL, the options of an ioredis client, or such a client, e.g. redisNotifier("redis://localhost").'

/** Refuses what is no server. */
export function checkServer(server: unknown): asserts server is RedisServer {
  if (typeof server === 'string') return checkUrl(server)
  if (typeof server !== 'object' || server === null || Array.isArray(server)) {
    throw new InvalidArgumentError(NEEDED)
  }
  if ('isCluster' in server && server.isCluster === true) {
    const hint = 'A cluster passes messages on to all its nodes: give redisNotifier the URL of one of them.'
    throw new InvalidArgumentError(hint)
  }
  const isForeign = ('publish' in server || 'duplicate' in server) && !isClient(server)
  if (isForeign) throw new InvalidArgumentError(`This is no client of the package "ioredis". ${NEEDED}`)
}

export function checkChannel(channel: unknown): asserts channel is string {
  if (typeof channel === 'string' && channel !== '') return
  throw new InvalidArgumentError('The option "channel" of redisNotifier must be a name, e.g. "perdure".')
}

export function isClient(server: object): server is Redis {
  return (
    'duplicate' in server &&
    typeof server.duplicate === 'function' &&
    'publish' in server &&
    'status' in server &&
    typeof server.status === 'string'
  )
}

function checkUrl(server: string): void {
  try {
    if (/^rediss?:$/.test(new URL(server).protocol)) return
  } catch {
    // Said below. The text itself is not: there may be a password in it.
  }
  throw new InvalidArgumentError(NEEDED)
}
