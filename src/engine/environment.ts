import { uuidv7 } from 'uuidv7'
import type { Environment, Log } from '../ports/environment.ts'

/** The longest delay that a timer of the runtime can take; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1
/** Timers fire no earlier than this before the wall clock says so, unless that was set. */
const EARLY_MS = 20
/** After so many turns without a pause, other work of the process gets its chance. */
const TURNS_PER_YIELD = 64

/** The environment of real processes: the system's clock, timers and chance. */
export function systemEnvironment(log: Log): Environment {
  return {
    now: () => Date.now(),
    setTimer,
    keepAlive: () => {
      const timer = setInterval(() => {}, MAX_TIMER_MS)
      return () => clearInterval(timer)
    },
    settled: settledRunner(),
    random: () => Math.random(),
    uuid: () => uuidv7(),
    log,
  }
}

/** A log that writes warnings and errors to standard error, one line each. */
export const consoleLog: Log = {
  debug: () => {},
  info: () => {},
  warn: (message, fields) => console.warn(line('warn', message, fields)),
  error: (message, fields) => console.error(line('error', message, fields)),
}

function line(level: string, message: string, fields: Readonly<Record<string, unknown>> = {}): string {
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${JSON.stringify(value)}`)
  return ['perdure', level, message, ...pairs].join(' ')
}

function setTimer(delayMs: number, callback: () => void, options: { background?: boolean } = {}): () => void {
  // A delay is a delay, also if the wall clock is set meanwhile.
  const dueAt = performance.now() + delayMs
  const dueByClock = Date.now() + delayMs
  let timer: NodeJS.Timeout
  const arm = (leftMs: number): void => {
    timer = setTimeout(fire, Math.min(Math.max(Math.ceil(leftMs), 0), MAX_TIMER_MS))
    if (options.background === true) timer.unref()
  }
  const fire = (): void => {
    const left = dueAt - performance.now()
    // Timers of the runtime may fire a little early by the wall clock, by which due times are judged.
    const early = dueByClock - Date.now()
    if (left > 0) arm(left)
    else if (early > 0 && early < EARLY_MS) arm(early)
    else callback()
  }
  arm(delayMs)
  return () => clearTimeout(timer)
}

/**
 * Promise reactions run until there are none left, and only then the callbacks of `process.nextTick`; so a tick that is
 * asked for from a reaction comes after all of them. Every now and then the whole event loop gets a turn.
 */
function settledRunner(): (callback: () => void) => void {
  let turns = 0
  return (callback) => {
    turns += 1
    if (turns % TURNS_PER_YIELD === 0) setImmediate(callback)
    else queueMicrotask(() => process.nextTick(callback))
  }
}
