/** What the programs of these tests share: how they tell what they do, and how they make an engine. */
import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { createEngine } from 'perdure'
import { openStore } from './open-store.mjs'

export const settings = JSON.parse(process.argv[2] ?? '{}')

// A machine whose own clock is wrong.
const { now } = Date
Date.now = () => now() + (settings.clockMs ?? 0)

/** Prints a line for the test. */
export function tell(at, fields = {}) {
  process.stdout.write(`${JSON.stringify({ at, ...fields })}\n`)
}

/** Appends a line to the log of side effects, in one write. */
export function note(at, fields) {
  const line = { at, time: Date.now(), pid: process.pid, ...fields }
  appendFileSync(settings.log, `${JSON.stringify(line)}\n`)
}

/** Does the work of a step body between two lines in the log. Returns the nonce of this call, or what `work` returns. */
export async function logged({ runId, stepId, attempt }, work = () => undefined, saw = []) {
  const nonce = randomUUID()
  const call = { run: runId, step: stepId, attempt, nonce }
  note('start', { ...call, saw })
  const value = await work()
  note('end', call)
  return value ?? nonce
}

/** An engine on the test's database. It tells of lost claims, warnings and errors, and notes functions that are called. */
export function engineOf(options) {
  const { lease = 60_000, maxDeaths = 10, pollInterval = 100 } = settings
  return createEngine({
    store: openStore(settings.place),
    lease,
    maxDeaths,
    pollInterval,
    log,
    observer,
    ...options,
  })
}

/** Closes the engine when one of these signals comes, then ends the process. Further signals change nothing. */
export function closeOn(signals, engine, options) {
  for (const signal of signals) {
    process.on(signal, async () => {
      tell('signal', { signal })
      await engine.close(options)
      tell('closed')
      process.exit(0)
    })
  }
}

/** Resolves when the signal aborts, with its reason. */
export function aborted(signal) {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true })
  })
}

/** Resolves when the test has made this file. */
export async function flag(name) {
  while (!existsSync(join(settings.folder, name))) await pause(10)
}

export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function observer(event) {
  if (event.type === 'execution-lost') tell('lost', { run: event.runId, fence: event.fence })
}

const ignore = () => {}
const log = {
  debug: ignore,
  info: ignore,
  warn: (message, fields) => tell('warn', { message, ...fields }),
  error: (message, fields) => tell('error', { message, ...fields }),
}

process.on('unhandledRejection', (error) => {
  tell('unhandled', { error: String(error) })
  process.exitCode = 70
})

// If the test itself dies, nobody is left to end this process.
process.stdin.resume().on('end', () => process.exit(71))
process.stdin.unref?.()
