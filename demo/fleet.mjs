// The worker processes: starts them, kills one when told to, and starts another in its place. It ends only processes
// that it has started.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WorkerLogReader } from './worker-log.mjs'

const SCRIPT = fileURLToPath(new URL('worker.mjs', import.meta.url))
/** When so many workers have died by themselves, the demo gives up. */
const MAX_CRASHES = 3
const STOP_TIMEOUT_MS = 10_000

/**
 * A worker process, alive or not. `killedAt` is in epoch ms.
 *
 * @typedef {object} WorkerProcess
 * @property {number} number
 * @property {import('node:child_process').ChildProcess} process
 * @property {WorkerLogReader} log
 * @property {string} stderr
 * @property {boolean} isReady  whether it has told that it works
 * @property {number | null} killedAt
 */

export class Fleet {
  /** @type {WorkerProcess[]} every worker that was ever started */
  workers = []
  /** @type {Promise<never>} rejects when workers die by themselves */
  broken
  #options
  #stopping = false
  #crashes = 0
  /** @type {(error: Error) => void} */
  #break = () => {}

  /** @param {{ size: number, place: import('./store.mjs').Place, folder: string }} options */
  constructor(options) {
    this.#options = options
    this.broken = new Promise((_, reject) => {
      this.#break = reject
    })
    this.broken.catch(() => {})
    for (let count = 0; count < options.size; count++) this.#start()
  }

  get alive() {
    return this.workers.filter(({ process }) => isAlive(process))
  }

  /** Those that work. One that is still starting has nothing to lose, and on a slow machine would never get further. */
  get working() {
    return this.alive.filter(({ isReady }) => isReady)
  }

  get kills() {
    return this.workers.filter(({ killedAt }) => killedAt !== null).length
  }

  /** How many step bodies were started so far. */
  get bodies() {
    return this.workers.flatMap(({ log }) => log.read()).filter(({ type }) => type === 'body').length
  }

  /**
   * Kills a worker as hard as the system can, and starts another. Resolves when the worker is dead.
   *
   * @param {WorkerProcess} worker
   */
  async kill(worker) {
    const dead = once(worker.process, 'exit')
    worker.killedAt = Date.now()
    worker.process.kill('SIGKILL')
    await dead
  }

  /** Lets the workers end in order. */
  async stop() {
    this.#stopping = true
    const exits = this.alive.map(async ({ process }) => {
      const timer = setTimeout(() => process.kill('SIGKILL'), STOP_TIMEOUT_MS)
      const exit = once(process, 'exit')
      if (process.connected) process.disconnect()
      await exit
      clearTimeout(timer)
    })
    await Promise.all(exits)
  }

  /** Ends all at once, for when this process has to end. */
  abandon() {
    this.#stopping = true
    for (const { process } of this.alive) process.kill('SIGKILL')
  }

  #start() {
    const number = this.workers.length + 1
    const logPath = join(this.#options.folder, `worker-${number}.log`)
    const process = fork(SCRIPT, [JSON.stringify(this.#options.place), logPath], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    /** @type {WorkerProcess} */
    const worker = {
      number,
      process,
      log: new WorkerLogReader(logPath),
      stderr: '',
      isReady: false,
      killedAt: null,
    }
    process.stderr?.setEncoding('utf8').on('data', (text) => {
      worker.stderr = (worker.stderr + text).slice(-4000)
    })
    process.on('message', () => {
      worker.isReady = true
    })
    process.on('exit', (code, signal) => this.#ended(worker, signal ?? `exit code ${code}`))
    process.on('error', (error) => this.#break(error))
    this.workers.push(worker)
  }

  /**
   * @param {WorkerProcess} worker
   * @param {string} how
   */
  #ended(worker, how) {
    if (this.#stopping) return
    if (worker.killedAt === null) this.#crashes += 1
    if (this.#crashes < MAX_CRASHES) this.#start()
    else this.#break(new Error(`Worker ${worker.number} ended by itself (${how}).\n${worker.stderr}`))
  }
}

/** @param {import('node:child_process').ChildProcess} process */
function isAlive({ exitCode, signalCode }) {
  return exitCode === null && signalCode === null
}
