// The command line of the demo.

import { realpathSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { isServer } from './store.mjs'

const NODE_MODULES = fileURLToPath(new URL('../node_modules', import.meta.url))
const MAX_KILLS_PER_SECOND = 3

export const HELP = `Audits the licences of all packages in a folder, with durable workflows on three worker processes of which
one is killed every second, and proves that nothing was lost and nothing was done twice.

  npm run demo -- [options]

  --dir PATH               the folder to audit: a project, or its node_modules (default: our own node_modules)
  --kills-per-second N     how often a worker is killed, from 0 to ${MAX_KILLS_PER_SECOND}, e.g. 0.5 (default: 1)
  --no-kills               the same as --kills-per-second 0
  --seed N                 which workers are killed, and when (default: another one each time)
  --store URL              where to store it: postgres://… or mongodb://… (default: an SQLite file)
  --keep                   keep the database, and say how to look at it
  --json                   print a summary as JSON; the progress goes to standard error
  --help

Exit code: 0 if all proofs hold, 1 if one fails or the audit does, 2 for wrong options.`

/** A mistake on the command line. */
export class UsageError extends Error {}

/**
 * @param {string[]} args
 * @throws {UsageError}
 */
export function parseOptions(args) {
  const { values } = parse(args)
  const given = number(values['kills-per-second'] ?? '1', '--kills-per-second')
  if (given > MAX_KILLS_PER_SECOND) {
    // A worker needs a moment to start; if none lives long enough to end a step, there is no progress to show.
    throw new UsageError(`--kills-per-second is at most ${MAX_KILLS_PER_SECOND}.`)
  }
  return {
    help: values.help,
    root: values.help ? '' : folder(values.dir ?? NODE_MODULES),
    killsPerSecond: values['no-kills'] ? 0 : given,
    seed: values.seed === undefined ? Date.now() % 1_000_000 : number(values.seed, '--seed'),
    store: server(values.store),
    keep: values.keep,
    json: values.json,
  }
}

/** @typedef {ReturnType<typeof parseOptions>} Options */

/** @param {string[]} args */
function parse(args) {
  try {
    return parseArgs({
      args,
      options: {
        dir: { type: 'string' },
        'kills-per-second': { type: 'string' },
        'no-kills': { type: 'boolean', default: false },
        seed: { type: 'string' },
        store: { type: 'string' },
        keep: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/**
 * @param {string} text
 * @param {string} name
 */
function number(text, name) {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value
  throw new UsageError(`${name} takes a number from 0, not "${text}".`)
}

/** @param {string | undefined} url */
function server(url) {
  if (url === undefined || isServer(url)) return url ?? null
  throw new UsageError(`--store takes a URL, postgres://… or mongodb://…, not "${url}".`)
}

/** @param {string} path */
function folder(path) {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return realpathSync(path)
  throw new UsageError(`There is no folder "${path}" to audit.`)
}
