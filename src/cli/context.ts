import type { Log } from '../index.ts'
import { type Colours, createColours, wantsColours } from './format/colours.ts'
import { escapeText } from './format/escape.ts'
import { jsonText } from './format/json.ts'

/** What a command may use of the process: everything else it is given as arguments. */
export interface Context {
  /** Writes a line to standard output: what was asked for. */
  out(line: string): void
  /** Writes a line to standard error: what is worth knowing besides. */
  err(line: string): void
  readonly colours: Colours
  /** The width of the terminal; `null` if the output goes elsewhere, where nothing is cut off. */
  readonly width: number | null
  /** Whether a person watches standard output. */
  readonly isTerminal: boolean
  readonly json: boolean
  readonly verbose: boolean
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  now(): number
}

/** The context of this process. */
export function processContext(
  process: NodeJS.Process,
  { json, verbose }: { readonly json: boolean; readonly verbose: boolean },
): Context {
  const { stdout, stderr, env } = process
  const isTerminal = stdout.isTTY === true
  return {
    out: (line) => stdout.write(`${line}\n`),
    err: (line) => stderr.write(`${line}\n`),
    colours: createColours(!json && wantsColours(isTerminal, env)),
    width: isTerminal ? stdout.columns || null : null,
    isTerminal,
    json,
    verbose,
    cwd: process.cwd(),
    env,
    now: () => Date.now(),
  }
}

/** The engine's log, and that of the workflows: lines on standard error. */
export function contextLog({ err, json, verbose }: Context): Log {
  const write = (level: string, message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    const pairs = Object.entries(fields).map(([name, value]) => `${name}=${jsonText(value)}`)
    err(json ? jsonText({ ...fields, level, message }) : escapeText([level, message, ...pairs].join(' ')))
  }
  return {
    debug: (message, fields) => {
      if (verbose) write('debug', message, fields)
    },
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
  }
}
