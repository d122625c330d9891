// How runs are started and waited for; the same for every system.
import { setTimeout as delay } from 'node:timers/promises'

export const IN_FLIGHT = 50

/** Calls `f` with 0 to n - 1, so many at a time. */
export async function lanes(n, width, f) {
  let next = 0
  const lane = async () => {
    while (next < n) await f(next++)
  }
  await Promise.all(Array.from({ length: Math.min(width, n) }, lane))
}

/**
 * Runs n of a kind to their end. `result`: so many in flight, each waits for its result, as a caller would. `recorded`:
 * for systems that tell a result only to who polls, and for jobs: accepted as fast as 50 callers can, then until the
 * last one is recorded as done; that favours whoever would have to poll.
 */
export async function drive(client, { kind, n, mode, input }) {
  if (mode === 'result') {
    await lanes(n, IN_FLIGHT, async (i) => client.result(await client.start(kind, { i, ...input })))
    return
  }
  const before = client.count ? await client.count() : 0
  const handles = []
  await lanes(n, IN_FLIGHT, async (i) => {
    handles.push(await client.start(kind, { i, ...input }))
  })
  await settled(client, { handles, before, n })
}

/** Until n more runs than before are recorded as done. */
export async function settled(client, { handles, before, n }) {
  if (!client.count) {
    await Promise.all(handles.map((handle) => client.result(handle)))
    return
  }
  while ((await client.count()) < before + n) await delay(n > 1000 ? 20 : 5)
}

/** Warms up, and says how many runs fit into the time that a measurement shall take. */
export async function calibrate(client, { kind, mode, input, size }) {
  await drive(client, { kind, n: size.warm, mode, input })
  const startedAt = performance.now()
  await drive(client, { kind, n: size.warm, mode, input })
  const perSecond = (size.warm / (performance.now() - startedAt)) * 1000
  return Math.round(Math.min(size.max, Math.max(size.warm, perSecond * size.seconds)))
}

export function percentile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}
