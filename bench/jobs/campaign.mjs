// One measurement: so many jobs through a transport, while workers are killed. What was done is read from the workers' log.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openTransport } from './transports.mjs'

const LINE_BYTES = 10
const IN_FLIGHT = 50
/** Without a single job done for this long, the rest is taken for lost. */
const PATIENCE_MS = 60_000

/**
 * @typedef {object} Verdict
 * @property {number} acceptedPerSecond jobs that the transport took, while the workers worked
 * @property {number} donePerSecond from the first one that was enqueued to the last one that was done
 * @property {number} lost accepted, but never executed
 * @property {number} repeated executed more than once: at most those that were running when their worker was killed
 * @property {number} unfinished executed, but not completed as the transport sees it
 * @property {number} kills
 */

/**
 * @param {{ transport: import('./transports.mjs').TransportSettings, log: string, jobs: number, workers: number, kills: number }} options
 * @returns {Promise<Verdict>}
 */
export async function campaign({ transport, log, jobs, workers, kills }) {
  writeFileSync(log, '')
  const producer = await openTransport(transport)
  const fleet = []
  const hire = async () => {
    fleet.push(await startWorker({ transport, log }))
  }
  try {
    await Promise.all(Array.from({ length: workers }, hire))
    const startedAt = performance.now()
    let producedAt = startedAt
    const produced = produce(producer, jobs).finally(() => {
      producedAt = performance.now()
    })
    // At even distances on the way, so that there is always work that the dead leave behind.
    for (let kill = 1; kill <= kills; kill++) {
      await progress(log, Math.floor((jobs * kill) / (kills + 1)))
      await fleet.shift()?.kill()
      await hire()
    }
    const ids = await produced
    await progress(log, jobs)
    const doneAt = performance.now()
    const unfinished = await unfinishedOf(producer, ids)
    const done = linesOf(log)
    const lost = jobs - new Set(done).size
    return {
      acceptedPerSecond: (jobs / (producedAt - startedAt)) * 1000,
      donePerSecond: (jobs / (doneAt - startedAt)) * 1000,
      lost,
      repeated: done.length - (jobs - lost),
      unfinished,
      kills,
    }
  } finally {
    await Promise.all(fleet.map((worker) => worker.end()))
    await producer.close()
  }
}

/** Enqueues the jobs, some at a time. Returns their ids. */
async function produce({ enqueue }, jobs) {
  const ids = []
  let next = 0
  const produceSome = async () => {
    while (next < jobs) {
      const n = next++
      ids[n] = await enqueue(n)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, produceSome))
  return ids
}

/** Waits until so many different jobs are done, or nothing happens any more. */
async function progress(log, count) {
  let seen = -1
  let since = performance.now()
  for (;;) {
    const lines = statSync(log).size / LINE_BYTES
    // Lines are cheap to count, different ones are not.
    if (lines >= count && new Set(linesOf(log)).size >= count) return
    if (lines !== seen) since = performance.now()
    if (performance.now() - since > PATIENCE_MS) return
    seen = lines
    await delay(lines >= count ? 100 : 10)
  }
}

function linesOf(log) {
  return readFileSync(log, 'utf8').split('\n').filter(Boolean)
}

/** The end of the last jobs is noted a moment after they are done. */
async function unfinishedOf({ status }, ids) {
  let open = ids
  const until = performance.now() + PATIENCE_MS
  while (open.length > 0 && performance.now() < until) {
    const left = []
    for (let i = 0; i < open.length; i += IN_FLIGHT) {
      const some = open.slice(i, i + IN_FLIGHT)
      const states = await Promise.all(some.map((id) => status(id ?? '')))
      left.push(...some.filter((_, at) => states[at] !== 'completed'))
    }
    open = left
    if (open.length > 0) await delay(200)
  }
  return open.length
}

async function startWorker(settings) {
  const program = fileURLToPath(new URL('./worker.mjs', import.meta.url))
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  await Promise.race([
    once(child.stdout, 'data'),
    closed.then(([code]) => Promise.reject(new Error(`A worker ended with ${code} before it was ready.`))),
  ])
  return {
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
    async end() {
      child.stdin.end()
      await closed
    },
  }
}
