// Kills a random worker at random moments, and remembers what each of them was doing.

import { pause } from './pause.mjs'

/**
 * `held`: the runs that the worker was executing when it died, with their fences. The fence of a run is raised by every
 * claim, so it says which execution it was.
 *
 * @typedef {{ worker: import('./fleet.mjs').WorkerProcess, at: number, held: { run: string, fence: number }[] }} Kill
 */

/**
 * Kills until `signal` aborts. Resolves to all kills.
 *
 * @param {import('./fleet.mjs').Fleet} fleet
 * @param {import('perdure').Engine} engine
 * @param {{ killsPerSecond: number, seed: number, signal: AbortSignal }} options
 */
export async function killNowAndThen(fleet, engine, { killsPerSecond, seed, signal }) {
  /** @type {Kill[]} */
  const kills = []
  const random = randomNumbers(seed)
  while (killsPerSecond > 0) {
    // Half to one and a half times the mean.
    await pause((1000 / killsPerSecond) * (0.5 + random()), signal)
    if (signal.aborted) break
    const { working } = fleet
    const worker = working[Math.floor(random() * working.length)]
    if (worker === undefined) continue
    const at = Date.now()
    await fleet.kill(worker)
    kills.push({ worker, at, held: await heldBy(worker, engine) })
  }
  return kills
}

/**
 * What a dead worker held: the runs that the store still calls running, in an execution that is in the worker's log.
 *
 * @param {import('./fleet.mjs').WorkerProcess} worker
 * @param {import('perdure').Engine} engine
 */
async function heldBy(worker, engine) {
  const begun = worker.log
    .read()
    .flatMap((event) => (event.type === 'began' ? `${event.run} ${event.fence}` : []))
  const { runs } = await engine.listRuns({ status: ['running'], limit: 1000 })
  return runs
    .filter(({ id, fence }) => begun.includes(`${id} ${fence}`))
    .map(({ id, fence }) => ({ run: id, fence }))
}

/**
 * Random numbers, 0 ≤ x < 1, the same for the same seed (mulberry32).
 *
 * @param {number} seed
 */
function randomNumbers(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
