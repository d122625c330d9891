// Makes a fresh clone runnable: installs the dependencies and builds `dist` if they are missing or out of date.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Installs and builds what is needed, with one line on standard error for each; ends the process if it cannot. */
export function bootstrap() {
  requireNode()
  if (!dependenciesMatchLockfile()) {
    run('Installing the dependencies (npm ci) …', 'npm ci --silent || npm install --silent')
  }
  // Whoever has just built says so: two builds at once would read what the other writes.
  if (process.env['PERDURE_SKIP_BUILD'] && existsSync(join(root, 'dist', 'index.js'))) return
  if (!distIsFresh()) {
    // Without cleaning, so that a process that runs from `dist` at this moment goes on.
    run('Building …', `"${process.execPath}" node_modules/tsdown/dist/run.mjs --no-clean --logLevel error`)
  }
}

function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return
  console.error(`Perdure needs Node 20.19 or newer; this is ${process.version}.`)
  process.exit(1)
}

/**
 * Compares what npm says it has installed with what the lockfile asks for. Times of change do not tell: npm writes
 * both files at once, and a checkout touches the lockfile without changing it.
 */
export function dependenciesMatchLockfile() {
  try {
    const wanted = readPackages('package-lock.json')
    const installed = readPackages('node_modules/.package-lock.json')
    return Object.entries(wanted).every(([path, entry]) => {
      if (path === '' || entry.link) return true
      const found = installed[path]
      return found
        ? found.version === entry.version
        : Boolean(entry.optional || entry.devOptional || entry.peer)
    })
  } catch {
    return false
  }
}

/**
 * @param {string} path
 * @returns {Record<string, { version?: string, link?: boolean, optional?: boolean, devOptional?: boolean, peer?: boolean }>}
 */
function readPackages(path) {
  return JSON.parse(readFileSync(join(root, path), 'utf8')).packages
}

/** Whether all that is built is newer than all that it is built from. */
function distIsFresh() {
  try {
    const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    /** @type {string[]} */
    const built = Object.values(exports).flatMap((entry) => (entry.default ? [entry.default] : []))
    const oldest = Math.min(...built.map((path) => statSync(join(root, path)).mtimeMs))
    const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
      .map((path) => join(root, 'src', path))
    return sources.every((path) => statSync(path).mtimeMs <= oldest)
  } catch {
    return false
  }
}

/**
 * @param {string} line
 * @param {string} command
 */
function run(line, command) {
  console.error(line)
  const { status, stdout, stderr } = spawnSync(command, { cwd: root, shell: true, encoding: 'utf8' })
  if (status === 0) return
  console.error(`${stdout}${stderr}\nThis failed: ${command}`)
  process.exit(1)
}
