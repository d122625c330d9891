import { InvalidArgumentError } from '../../core/errors.ts'
import type { Log } from '../../ports/environment.ts'
import type { Notifier } from '../../ports/notifier.ts'
import { Exchange } from '../exchange.ts'
import type { Timings } from '../time.ts'
import { checkChannel, checkServer, type RedisServer } from './arguments.ts'
import { RedisSender } from './sender.ts'
import { RedisSession } from './session.ts'

/** Options of `redisNotifier`. */
export interface RedisNotifierOptions {
  /**
   * The channel of publish/subscribe. Engines on the same store need the same one; channels do not belong to one of the
   * numbered databases, so that those of another store on the same server need another one. Default: `perdure`.
   */
  readonly channel?: string
  /** Where to tell that Redis cannot be reached: once per outage. Default: standard error. */
  readonly log?: Pick<Log, 'warn'>
}

/** Makes a notifier that goes by these times. */
export function makeNotifier(server: RedisServer, options: RedisNotifierOptions, timings: Timings): Notifier {
  checkServer(server)
  if (typeof options !== 'object' || options === null) {
    throw new InvalidArgumentError('The options of redisNotifier are an object, e.g. { channel: "shop" }.')
  }
  const { channel = 'perdure', log = standardError } = options
  checkChannel(channel)
  if (typeof log?.warn !== 'function') {
    throw new InvalidArgumentError('The option "log" of redisNotifier must be a log, e.g. console.')
  }
  const sender = new RedisSender({ server, channel, timings })
  const exchange = new Exchange({
    carrier: {
      name: 'Redis',
      send: (messages) => sender.send(messages),
      listen: (hooks) => new RedisSession({ server, channel, timings }, hooks),
      deafness: null,
    },
    log: () => log,
    timings,
  })
  return {
    publish: (hints) => exchange.publish(hints),
    subscribe: (listener) => exchange.subscribe(listener),
    close: async () => {
      await exchange.close()
      sender.close()
    },
  }
}

const standardError: Pick<Log, 'warn'> = {
  warn: (message, { error } = {}) => console.warn(`perdure warn ${message} error=${JSON.stringify(error)}`),
}
