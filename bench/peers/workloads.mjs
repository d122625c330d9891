// What is measured. Each `run` opens a system, warms it up, marks the measured part, and returns its figures.
import { setTimeout as delay } from 'node:timers/promises'
import { calibrate, drive, IN_FLIGHT, lanes, percentile } from './drive.mjs'
import { processes } from './processes.mjs'

/**
 * `once`: measured in the first repetition only, and in one setting of each system, because it takes long.
 * @type {Record<string, { run: (context: any) => Promise<Record<string, number>>, once?: boolean }>}
 */
export const workloads = {
  'one-step': { run: (context) => throughput(context, { kind: 'steps', input: { steps: 1 } }) },
  'ten-step': { run: (context) => throughput(context, { kind: 'steps', input: { steps: 10 }, share: 0.5 }) },
  lone: { run: lone },
  jobs: { run: (context) => throughput(context, { kind: 'job', mode: 'recorded' }) },
  sleepers: { run: sleepers },
  idle: { run: idle },
  parked: { run: parked, once: true },
  'step-5000': { run: longRun, once: true },
  processes: { run: processes, once: true },
  limit: { run: limit },
}

async function throughput({ open, mark, size, mode: own }, { kind, input = {}, mode = own, share = 1 }) {
  const client = await open('all', {})
  const warm = Math.ceil(size.warm * share)
  const n = await calibrate(client, { kind, input, mode, size: { ...size, warm } })
  const commits = client.commits?.()
  await mark('begin')
  const startedAt = performance.now()
  await drive(client, { kind, input, mode, n })
  const seconds = (performance.now() - startedAt) / 1000
  await mark('end')
  const made = commits === undefined ? {} : { commits: (client.commits() - commits) / n }
  await ended(client)
  return { n, perSecond: n / seconds, ...made }
}

/** One run at a time: from the start to the result, as long as the system's own way of waiting takes. */
async function lone({ open, mark, size }) {
  const waiting = new Map()
  const client = await open('all', { ended: (i) => waiting.get(i)?.() })
  const one = async (kind, input) => {
    const startedAt = performance.now()
    if (client.result) await client.result(await client.start(kind, input))
    else {
      const over = new Promise((resolve) => waiting.set(input.i, resolve))
      await client.start(kind, input)
      await over
    }
    return performance.now() - startedAt
  }
  const many = async (kind, steps, most) => {
    const times = []
    const until = performance.now() + size.loneSeconds * 1000
    while (times.length < most && performance.now() < until)
      times.push(await one(kind, { i: 1_000_000 * steps + times.length, steps }))
    return { n: times.length, p50: percentile(times, 0.5), p99: percentile(times, 0.99) }
  }
  const kind = client.jobsOnly ? 'job' : 'steps'
  await many(kind, 2, Math.ceil(size.lone / 4))
  await mark('begin')
  const single = await many(kind, 1, size.lone)
  await mark('end')
  const ten = client.jobsOnly ? null : await many(kind, 10, Math.ceil(size.lone / 2))
  await ended(client)
  return { n: single.n, p50: single.p50, p99: single.p99, p50ten: ten?.p50 ?? null, p99ten: ten?.p99 ?? null }
}

/** Runs that sleep for a second, all at once; the best that there is takes little over one second. */
async function sleepers({ open, mark, size }) {
  const client = await open('all', {})
  const input = { ms: 1000 }
  await drive(client, { kind: 'sleep', input: { ms: 1 }, n: Math.ceil(size.warm / 4), mode: 'recorded' })
  await mark('begin')
  const startedAt = performance.now()
  await drive(client, { kind: 'sleep', input, n: size.sleepers, mode: 'recorded' })
  const seconds = (performance.now() - startedAt) / 1000
  await mark('end')
  await ended(client)
  return { n: size.sleepers, seconds, perSecond: size.sleepers / seconds }
}

/** A worker with nothing to do; the parent reads what it and its server use up meanwhile. */
async function idle({ open, mark, size }) {
  const client = await open('all', {})
  await drive(client, {
    kind: client.jobsOnly ? 'job' : 'steps',
    input: { steps: 1 },
    n: 5,
    mode: 'recorded',
  })
  await delay(Math.min(1500, size.idleSeconds * 1000))
  await mark('begin')
  await delay(size.idleSeconds * 1000)
  await mark('end')
  await ended(client)
  return { n: 0, seconds: size.idleSeconds }
}

/** As many runs as can be started in some time, up to a hundred thousand, that all sleep for an hour. */
async function parked({ open, mark, size }) {
  const client = await open('all', {})
  await drive(client, {
    kind: client.jobsOnly ? 'job' : 'steps',
    input: { steps: 1 },
    n: 50,
    mode: 'recorded',
  })
  globalThis.gc?.()
  await mark('begin')
  const startedAt = performance.now()
  let n = 0
  await lanes(size.parked, IN_FLIGHT * 2, async (i) => {
    if (performance.now() - startedAt > size.parkSeconds * 1000) return
    await client.start('sleep', { i, ms: 3_600_000 })
    n++
  })
  const seconds = (performance.now() - startedAt) / 1000
  // They fall asleep: whoever keeps them in memory has them there by now.
  await delay(Math.min(3000, size.parkSeconds * 500))
  globalThis.gc?.()
  await mark('end')
  return { n, seconds, wanted: size.parked }
}

/** One run of many steps: what a step costs at the beginning, and what one costs at the end. */
async function longRun({ open, mark, size }) {
  const at = []
  let bored = () => {}
  const client = await open('all', { onStep: () => at.push(performance.now()) })
  await drive(client, { kind: 'steps', input: { steps: 10 }, n: 20, mode: 'recorded' })
  at.length = 0
  const enough = new Promise((resolve) => {
    bored = setTimeout(resolve, size.longSeconds * 1000)
  })
  await mark('begin')
  const handle = await client.start('steps', { i: 1, steps: size.longSteps })
  const done = client.count || !client.result ? allSteps(at, size.longSteps) : client.result(handle)
  await Promise.race([done, enough])
  clearTimeout(bored)
  await mark('end')
  const part = Math.min(100, Math.floor(at.length / 3))
  const last = at.length - 1
  return {
    n: at.length,
    wanted: size.longSteps,
    first: (at[10 + part] - at[10]) / part,
    last: (at[last] - at[last - part]) / part,
  }
}

async function allSteps(at, n) {
  while (at.length < n) await delay(20)
}

async function limit({ open, mark, size }) {
  const client = await open('all', {})
  await mark('begin')
  const figures = await client.measure(size)
  await mark('end')
  return figures
}

/** Some systems wait for their connections when they are closed: that is not measured, and cut short. */
async function ended(client) {
  await Promise.race([client.close(), delay(3000)])
}
