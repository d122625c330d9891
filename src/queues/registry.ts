import { InvalidArgumentError } from '../core/errors.ts'
import { checkName } from '../core/names.ts'
import type { QueueAdapter } from './adapter.ts'
import { LocalQueueAdapter, type LocalQueueConfig } from './local.ts'
import { RedisQueueAdapter, type RedisQueueConfig } from './redis/adapter.ts'
import { StoreQueueAdapter, type StoreQueueConfig } from './store.ts'

/** A class of adapters, as `registerQueueAdapter` takes it. */
export type QueueAdapterClass = new (config: never) => QueueAdapter

const classes = new Map<string, QueueAdapterClass>([
  ['local', LocalQueueAdapter],
  ['redis', RedisQueueAdapter],
  ['store', StoreQueueAdapter],
])

/**
 * Makes a queue adapter.
 *
 * - `'local'`: in the memory of this process. Jobs die with it.
 * - `'redis'`: BullMQ on a Redis; needs the packages `bullmq` and `ioredis`. Jobs are as durable as that Redis.
 * - `'store'`: runs of an engine. Jobs are as durable as its store, and `perdure runs` shows them.
 * - a name given to `registerQueueAdapter`.
 *
 * @throws InvalidArgumentError if there is no such type, or the configuration cannot be used. Nothing is opened yet.
 * @example
 * const queue = createQueueAdapter('redis', { url: 'redis://localhost' })
 * await queue.process('mail', async ({ to }) => await send(to), { concurrency: 20 })
 * const id = await queue.enqueue('mail', { to: 'ada@example.org' }, { jobId: 'welcome-7', attempts: 3, backoff: '10s' })
 */
export function createQueueAdapter(type: 'local', config?: LocalQueueConfig): QueueAdapter
export function createQueueAdapter(type: 'redis', config: RedisQueueConfig): QueueAdapter
export function createQueueAdapter(type: 'store', config: StoreQueueConfig): QueueAdapter
export function createQueueAdapter(type: string, config?: unknown): QueueAdapter
export function createQueueAdapter(type: string, config?: unknown): QueueAdapter {
  const Adapter = classes.get(type)
  if (Adapter !== undefined) return new Adapter(config as never)
  const known = [...classes.keys()].map((name) => `'${name}'`).join(', ')
  throw new InvalidArgumentError(
    `There is no queue adapter ${JSON.stringify(type)} (there are ${known}); see registerQueueAdapter.`,
  )
}

/**
 * Makes an adapter of your own known by a name. `queueAdapterSuite` of `perdure/testing` checks it.
 *
 * @throws InvalidNameError, InvalidArgumentError if the name is taken, or this is no class
 */
export function registerQueueAdapter(name: string, Adapter: QueueAdapterClass): void {
  checkName(name, 'The name of a queue adapter')
  if (typeof Adapter !== 'function')
    throw new InvalidArgumentError('registerQueueAdapter takes a name and a class.')
  if (classes.has(name)) throw new InvalidArgumentError(`A queue adapter "${name}" is registered already.`)
  classes.set(name, Adapter)
}
