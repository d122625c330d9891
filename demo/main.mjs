// The demo from start to end: starts the run of the audit, has workers work on it and be killed, waits for the
// result, then reads back what was recorded and proves that it is right. This process executes no workflow itself.

import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createEngine } from 'perdure'
import { killNowAndThen } from './chaos.mjs'
import { countPackages } from './count.mjs'
import { Fleet } from './fleet.mjs'
import { readLedger } from './ledger.mjs'
import { HELP, parseOptions, UsageError } from './options.mjs'
import { pause } from './pause.mjs'
import { Progress } from './progress.mjs'
import { printReport } from './report.mjs'
import { POLL_INTERVAL_MS, WORKERS } from './settings.mjs'
import { hintOf, newPlace, openStore, removePlace } from './store.mjs'
import { summarize } from './summary.mjs'
import { audit } from './workflows.mjs'

const REFRESH_MS = 100
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])
/** So long may nothing at all happen before the demo gives up. */
const STALL_MS = 60_000

/**
 * @param {string[]} args
 * @returns {Promise<number>} the exit code
 */
export async function main(args) {
  try {
    const options = parseOptions(args)
    if (!options.help) return await demo(options)
    console.log(HELP)
    return 0
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`${error.message}\nTry: npm run demo -- --help`)
      return 2
    }
    console.error(error)
    return 1
  }
}

/** @param {import('./options.mjs').Options} options */
async function demo(options) {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-demo-'))
  const place = newPlace(options.store, folder)
  const engine = createEngine({
    store: openStore(place),
    workflows: [audit],
    pollInterval: POLL_INTERVAL_MS,
  })
  const clean = async () => {
    await removePlace(place)
    rmSync(folder, { recursive: true, force: true })
  }
  const fleet = new Fleet({ size: WORKERS, place, folder })
  const stopListening = abandonOnSignal(engine, fleet, clean)
  try {
    const summary = await auditWithKills(engine, fleet, options)
    if (options.json) console.log(JSON.stringify(summary, null, 2))
    else printReport(summary)
    if (options.keep) console.error(`\nThe database is kept. Look at it:\n  ${hintOf(place)}`)
    return summary.ok ? 0 : 1
  } finally {
    await fleet.stop()
    await engine.close()
    stopListening()
    if (!options.keep) await clean()
  }
}

/**
 * @param {import('perdure').Engine} engine
 * @param {Fleet} fleet
 * @param {import('./options.mjs').Options} options
 */
async function auditWithKills(engine, fleet, { root, killsPerSecond, seed, json }) {
  const counted = countPackages(root)
  const progress = new Progress(json ? process.stderr : process.stdout, counted.packages.length)
  const began = Date.now()
  const over = new AbortController()
  const { signal } = over

  const handle = await engine.startWorkflow(audit, { root })
  const killing = killNowAndThen(fleet, engine, { killsPerSecond, seed, signal })
  const watching = watch(engine, fleet, progress, signal)
  const finished = handle.result().finally(() => over.abort())
  const [result, kills] = await Promise.race([
    Promise.all([finished, killing, watching]),
    fleet.broken,
  ]).finally(() => over.abort())
  const seconds = (Date.now() - began) / 1000
  await fleet.stop()

  const evidence = {
    counted,
    result,
    ledger: await readLedger(engine),
    logs: fleet.workers.map(({ log }) => log.read()),
    kills: kills.map(({ worker, at, held }) => ({ log: fleet.workers.indexOf(worker), at, held })),
  }
  return summarize({ root, seed, seconds }, evidence)
}

/**
 * Shows the progress until `signal` aborts.
 *
 * @param {import('perdure').Engine} engine
 * @param {Fleet} fleet
 * @param {Progress} progress
 * @param {AbortSignal} signal
 * @throws if nothing happens for a long time
 */
async function watch(engine, fleet, progress, signal) {
  let seen = { steps: 0, at: Date.now() }
  for (;;) {
    const counts = await engine.stats()
    const done = counts.find(({ workflow, status }) => workflow === 'audit package' && status === 'completed')
    const { bodies: steps, kills } = fleet
    const state = { done: done?.count ?? 0, steps, kills, workers: fleet.alive.length }
    if (signal.aborted) return progress.end(state)
    progress.show(state)
    if (steps > seen.steps) seen = { steps, at: Date.now() }
    if (Date.now() - seen.at > STALL_MS)
      throw new Error(`No step was started for ${STALL_MS / 1000} seconds.`)
    await pause(REFRESH_MS, signal)
  }
}

/**
 * An interrupted demo leaves neither workers nor data behind.
 *
 * @param {import('perdure').Engine} engine
 * @param {Fleet} fleet
 * @param {() => Promise<void>} clean
 */
function abandonOnSignal(engine, fleet, clean) {
  /** @param {NodeJS.Signals} signal */
  const abandon = async (signal) => {
    fleet.abandon()
    await engine.close()
    await clean()
    process.exit(128 + constants.signals[signal])
  }
  for (const signal of SIGNALS) process.on(signal, abandon)
  return () => {
    for (const signal of SIGNALS) process.off(signal, abandon)
  }
}
