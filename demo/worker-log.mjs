// What each worker did, in a file of its own: it is appended to before anything else happens, so it survives the
// worker. The proofs at the end do not take the engine's word for what ran: they read these files.

import { appendFileSync, closeSync, openSync, readSync } from 'node:fs'

/**
 * One line. `began`: a run is executing here. `body`: a step body was started. `lost`: the engine gave a run up because
 * its lease was over. `log`: a message of the engine. `at` is in epoch ms.
 *
 * @typedef {{ at: number, type: 'began', run: string, fence: number }
 *   | { at: number, type: 'body', run: string, fence: number, step: string }
 *   | { at: number, type: 'lost', run: string, fence: number }
 *   | { at: number, type: 'log', message: string }} WorkerEvent
 */

/**
 * Writes the log of this worker: an observer and a log for its engine.
 *
 * @param {string} path
 * @returns {{ observer: import('perdure').Observer, log: import('perdure').Log }}
 */
export function workerLog(path) {
  /** @param {Record<string, unknown>} event */
  const append = (event) => appendFileSync(path, `${JSON.stringify({ at: Date.now(), ...event })}\n`)
  /** @type {(message: string, fields?: Readonly<Record<string, unknown>>) => void} */
  const write = (message, fields = {}) =>
    append({ type: 'log', message: `${message} ${JSON.stringify(fields)}` })
  return {
    observer: (event) => {
      const { runId: run, fence } = event
      if (event.type === 'execution-started') append({ type: 'began', run, fence })
      if (event.type === 'execution-lost') append({ type: 'lost', run, fence })
      if (event.type === 'body-started') append({ type: 'body', run, fence, step: event.key })
    },
    log: { debug: () => {}, info: () => {}, warn: write, error: write },
  }
}

/** Reads a log that is still being written: each call of `read` adds the lines that have come since. */
export class WorkerLogReader {
  /** @type {WorkerEvent[]} */
  events = []
  #path
  #position = 0
  #rest = ''

  /** @param {string} path */
  constructor(path) {
    this.#path = path
  }

  read() {
    const file = openOrNull(this.#path)
    if (file === null) return this.events
    const buffer = Buffer.alloc(64 * 1024)
    for (;;) {
      const length = readSync(file, buffer, 0, buffer.length, this.#position)
      if (length === 0) break
      this.#position += length
      const lines = (this.#rest + buffer.toString('latin1', 0, length)).split('\n')
      // The last line may not be complete yet, or never if the worker died while it wrote.
      this.#rest = lines.pop() ?? ''
      for (const line of lines) this.events.push(JSON.parse(Buffer.from(line, 'latin1').toString('utf8')))
    }
    closeSync(file)
    return this.events
  }
}

/** @param {string} path */
function openOrNull(path) {
  try {
    return openSync(path, 'r')
  } catch {
    return null
  }
}
