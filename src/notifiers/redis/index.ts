/** Hints over Redis: workers on any store hear at once of work that others have made. */
import type { Notifier } from '../../ports/notifier.ts'
import { TIMINGS } from '../time.ts'
import type { RedisServer } from './arguments.ts'
import { makeNotifier, type RedisNotifierOptions } from './notifier.ts'

export type { RedisServer } from './arguments.ts'
export type { RedisNotifierOptions } from './notifier.ts'

/**
 * A notifier over the publish/subscribe of Redis (or a server that speaks its protocol), by way of the package
 * `ioredis`, version 5 or 6. Redis holds none of the work: without it, workers find what is due when they poll.
 *
 * Takes a URL, the options of a client, or a client that the application has: hints are then sent over that client, and
 * a duplicate of it listens. Several engines may share a notifier. It stays open when they are closed; call `close()`
 * at the end. Neither that nor the client is needed for a process to end: its connections keep none alive.
 *
 * @throws InvalidArgumentError if an argument has the wrong type.
 * @example
 * const notifier = redisNotifier('redis://localhost:6379', { channel: 'shop' })
 * const engine = createEngine({ store: mongo('mongodb://localhost/shop'), notifier, workflows: [order] })
 * await engine.close()
 * await notifier.close()
 * @example
 * const notifier = redisNotifier(redis) // the ioredis client that the application has
 */
export function redisNotifier(server: RedisServer, options: RedisNotifierOptions = {}): Notifier {
  return makeNotifier(server, options, TIMINGS)
}
