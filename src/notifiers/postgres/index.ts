/** Hints over LISTEN and NOTIFY of the database that the store is in. */
import type { Pool } from 'pg'
import type { Log } from '../../ports/environment.ts'
import type { Notifier } from '../../ports/notifier.ts'
import { Exchange } from '../exchange.ts'
import { TIMINGS, type Timings } from '../time.ts'
import { call } from './call.ts'
import { channelOf, notifyStatement } from './channel.ts'
import { PostgresSession } from './session.ts'

export interface PostgresHubOptions {
  /** The pool to send over; it also says how the connection that listens is to be made. */
  readonly pool: () => Promise<Pool>
  /** Those of one schema hear each other. */
  readonly schema: string
  /** Where to tell of trouble. Default: the log of one of the engines. */
  readonly log?: Log
  readonly timings?: Partial<Timings>
}

/**
 * Carries hints between all engines on one schema. The engines of this process that share a hub also share its
 * connection: it is opened for the first subscriber, and closed when the last has gone.
 *
 * @example
 * const hub = new PostgresHub({ pool: async () => pool, schema: 'perdure' })
 * const notifier = hub.notifier(log)
 */
export class PostgresHub {
  readonly #exchange: Exchange
  readonly #logs = new Set<{ readonly log: Log }>()

  constructor({ pool, schema, log, timings: changes }: PostgresHubOptions) {
    const timings: Timings = { ...TIMINGS, ...changes }
    const channel = channelOf(schema)
    this.#exchange = new Exchange({
      carrier: {
        name: 'PostgreSQL',
        send: async (messages) =>
          await call(await pool(), notifyStatement(channel, messages), timings.answer),
        listen: (hooks) => new PostgresSession({ pool, channel, timings }, hooks),
        deafness: 'LISTEN does not work here (a pooler in transaction mode?): workers poll',
      },
      log: () => log ?? this.#anyLog(),
      timings,
    })
  }

  /** A notifier for one engine. Closing it leaves those of others as they are. */
  notifier(log: Log): Notifier {
    const entry = { log }
    const subscriptions = new Set<() => void>()
    this.#logs.add(entry)
    let closed = false
    return {
      publish: (hints) => {
        if (!closed) this.#exchange.publish(hints)
      },
      subscribe: (listener) => {
        if (closed) return () => {}
        const unsubscribe = this.#exchange.subscribe(listener)
        const end = (): void => {
          subscriptions.delete(end)
          unsubscribe()
        }
        subscriptions.add(end)
        return end
      },
      close: async () => {
        closed = true
        for (const end of subscriptions) end()
        await this.#exchange.settle()
        this.#logs.delete(entry)
      },
    }
  }

  /** Ends all of it, for the pool is about to be closed. */
  async close(): Promise<void> {
    await this.#exchange.close()
  }

  #anyLog(): Log | null {
    for (const { log } of this.#logs) return log
    return null
  }
}
