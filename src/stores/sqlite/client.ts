import type { Worker } from 'node:worker_threads'
import { StoreError } from '../../core/errors.ts'
import type { Arguments, Failure, Method, Reply, Request, Result } from './protocol.ts'

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: StoreError) => void
}

interface RunningThread {
  readonly worker: Worker
  readonly waiting: Map<number, Waiting>
}

/**
 * The main thread's end of the store's thread. Starts the thread when it is first needed, and again if it
 * died; keeps the process alive only while a call waits for its answer.
 */
export class ThreadClient {
  readonly #name: string
  readonly #start: () => Worker
  #thread: RunningThread | null = null
  #lastId = 0
  #closing: Promise<void> | null = null

  /** `name` is what messages call the store; `start` starts its thread. */
  constructor(name: string, start: () => Worker) {
    this.#name = name
    this.#start = start
  }

  /** Calls a method in the thread. Calls are carried out in the order in which they were made. */
  async call<M extends Method>(method: M, ...args: Arguments<M>): Promise<Result<M>> {
    if (this.#closing !== null) {
      throw new StoreError('unavailable', `The store ${this.#name} is closed. Create a new one to go on.`)
    }
    return this.#request(method, args)
  }

  /** Waits for the calls that were made before, closes the database and ends the thread. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    if (this.#thread === null) return
    const { worker } = this.#thread
    // Fails only if the thread died just now, and then everything is closed as well.
    await this.#request('close', []).catch(() => undefined)
    await worker.terminate()
  }

  #request<M extends Method>(method: M, args: Arguments<M>): Promise<Result<M>> {
    const { worker, waiting } = this.#running()
    const request: Request<M> = { id: ++this.#lastId, method, args }
    worker.postMessage(request)
    return new Promise((resolve, reject) => {
      // What the thread answers to a method is the result of that method: both ends share one contract.
      waiting.set(request.id, { resolve: (result) => resolve(result as Result<M>), reject })
      if (waiting.size === 1) worker.ref()
    })
  }

  #running(): RunningThread {
    if (this.#thread !== null) return this.#thread
    const thread: RunningThread = { worker: this.#start(), waiting: new Map() }
    thread.worker.unref()
    thread.worker.on('message', (replies: readonly Reply[]) => settle(thread, replies))
    thread.worker.on('error', (error) => this.#bury(thread, error))
    thread.worker.on('exit', (code) => this.#bury(thread, new Error(`exit code ${code}`)))
    this.#thread = thread
    return thread
  }

  /** A thread that died takes its calls with it; whether they were carried out is unknown. */
  #bury(thread: RunningThread, cause: unknown): void {
    if (this.#thread === thread) this.#thread = null
    for (const { reject } of thread.waiting.values()) {
      reject(
        new StoreError(
          'unavailable',
          `The thread of the store ${this.#name} ended before it answered. The next call starts a new one.`,
          { cause },
        ),
      )
    }
    thread.waiting.clear()
  }
}

function settle({ worker, waiting }: RunningThread, replies: readonly Reply[]): void {
  for (const reply of replies) {
    const call = waiting.get(reply.id)
    waiting.delete(reply.id)
    if ('failure' in reply) call?.reject(toError(reply.failure))
    else call?.resolve(reply.result)
  }
  if (waiting.size === 0) worker.unref()
}

function toError({ failure, message, cause }: Failure): StoreError {
  return new StoreError(failure, message, cause === '' ? {} : { cause: new Error(cause) })
}
