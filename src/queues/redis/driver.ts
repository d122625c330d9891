import type { QueueEvents, Worker, WorkerOptions } from 'bullmq'
import type { Redis, RedisOptions } from 'ioredis'
import { InvalidArgumentError } from '../../core/errors.ts'
import { QueueUnavailableError } from '../errors.ts'
import type { Lane } from './cancellation.ts'

/** What the redis adapter can be told about its server. */
export type RedisServer = string | RedisOptions

/** The packages that the adapter needs, loaded when it is first used. */
interface Packages {
  readonly bullmq: typeof import('bullmq')
  readonly Client: typeof Redis
}

const CONNECT_MS = 10_000

/** Makes BullMQ's queues, workers and listeners over the connections of one adapter. */
export class Driver {
  readonly #server: RedisServer
  readonly #prefix: string
  #packages: Promise<Packages> | null = null
  /** For calls that a caller waits for: they fail when the server stays away. */
  #calls: Redis | null = null
  /** For workers, which wait for the server as long as it takes. */
  #patient: Redis | null = null

  constructor(server: unknown, prefix: unknown) {
    this.#server = checkServer(server)
    if (typeof prefix !== 'string' || prefix === '') {
      throw new InvalidArgumentError("The prefix of the redis adapter is a text, e.g. 'shop'.")
    }
    this.#prefix = prefix
  }

  async lane(name: string): Promise<Lane> {
    const { bullmq, Client } = await this.#load()
    this.#calls ??= connect(Client, this.#server, 3)
    const queue = quiet(new bullmq.Queue(name, { connection: this.#calls, prefix: this.#prefix }))
    return { queue, client: this.#calls }
  }

  async worker(name: string, handle: Handle, options: Partial<WorkerOptions>): Promise<Worker> {
    const { bullmq } = await this.#load()
    return quiet(new bullmq.Worker(name, handle, { ...options, ...(await this.#waiting()) }))
  }

  async events(name: string): Promise<QueueEvents> {
    const { bullmq } = await this.#load()
    return quiet(new bullmq.QueueEvents(name, await this.#waiting()))
  }

  async close(): Promise<void> {
    this.#calls?.disconnect()
    this.#patient?.disconnect()
  }

  async #waiting() {
    const { Client } = await this.#load()
    this.#patient ??= connect(Client, this.#server, null)
    return { connection: this.#patient, prefix: this.#prefix }
  }

  async #load(): Promise<Packages> {
    this.#packages ??= load()
    return await this.#packages
  }
}

type Handle = ConstructorParameters<typeof Worker>[1]

/** @throws QueueUnavailableError if what `doing` does fails because the server cannot be reached */
export async function reaching<Result>(doing: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    const fail = (): void => reject(new Error(`no answer within ${CONNECT_MS} ms`))
    timer = setTimeout(fail, CONNECT_MS)
  })
  try {
    return await Promise.race([doing, late])
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new QueueUnavailableError(`The queue's Redis did not do what it was asked: ${message}`, {
      cause: error,
    })
  } finally {
    clearTimeout(timer)
  }
}

function connect(Client: typeof Redis, server: RedisServer, maxRetriesPerRequest: number | null): Redis {
  const options = { maxRetriesPerRequest, replyMapping: 'legacy' } as const
  return quiet(
    typeof server === 'string' ? new Client(server, options) : new Client({ ...server, ...options }),
  )
}

/** Failures reach whoever asked; without a listener they would also end the process. */
function quiet<Emitter extends { on(event: 'error', listener: () => void): unknown }>(
  emitter: Emitter,
): Emitter {
  emitter.on('error', () => {})
  return emitter
}

async function load(): Promise<Packages> {
  try {
    // Of the early versions 5, `Redis` is no export that an ES module could name.
    const [bullmq, { default: ioredis }] = await Promise.all([import('bullmq'), import('ioredis')])
    return { bullmq, Client: ioredis.default }
  } catch (error) {
    const message = 'The redis adapter needs the packages bullmq and ioredis: npm install bullmq ioredis'
    throw new QueueUnavailableError(message, { cause: error })
  }
}

function checkServer(server: unknown): RedisServer {
  if (typeof server === 'object' && server !== null && !Array.isArray(server)) return server
  try {
    if (typeof server === 'string' && /^rediss?:$/.test(new URL(server).protocol)) return server
  } catch {
    // Said below. The text itself is not: there may be a password in it.
  }
  throw new InvalidArgumentError(
    "The redis adapter needs a server: createQueueAdapter('redis', { url: 'redis://localhost' }).",
  )
}
