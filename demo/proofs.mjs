// What the demo claims, and whether it is so. Pure functions of what was counted, recorded and logged.

/**
 * @typedef {object} Evidence
 * @property {{ packages: string[], files: number, bytes: number }} counted  the independent count of the folder
 * @property {readonly import('./workflows.mjs').PackageAudit[]} result  what the run of the audit returned
 * @property {readonly import('./ledger.mjs').RecordedRun[]} ledger  all runs in the store
 * @property {readonly (readonly import('./worker-log.mjs').WorkerEvent[])[]} logs  what each worker wrote
 * @property {readonly { log: number, at: number, held: readonly { run: string, fence: number }[] }[]} kills
 *   `log`: whose of the logs the killed worker's is
 *
 * @typedef {{ claim: string, problems: string[] }} Proof  it holds if there are no problems
 */

/**
 * @param {Evidence} evidence
 * @returns {Proof[]}
 */
export function prove(evidence) {
  return [
    onceEach(evidence),
    sameResult(evidence),
    sameSize(evidence),
    stepsRan(evidence),
    repeatsAreExcused(evidence),
    allTakenOver(evidence),
  ]
}

/** @param {Evidence} evidence */
function onceEach({ counted, ledger }) {
  const runs = ledger.filter(({ workflow }) => workflow === 'audit package')
  const problems = runs
    .filter(({ status }) => status !== 'completed')
    .map(({ id, status }) => `run ${id} of a package is ${status}`)
  const recorded = runs.flatMap(({ audit }) => (audit === null ? [] : audit.path))
  const claim = `each of the ${counted.packages.length} packages of a separate count was recorded exactly once`
  return { claim, problems: [...problems, ...differences(counted.packages, recorded)] }
}

/** @param {Evidence} evidence */
function sameResult({ counted, result }) {
  const paths = result.map(({ path }) => path)
  return {
    claim: 'the result of the audit lists the same packages',
    problems: differences(counted.packages, paths),
  }
}

/** @param {Evidence} evidence */
function sameSize({ counted, result }) {
  const problems = /** @type {const} */ (['files', 'bytes']).flatMap((what) => {
    const sum = result.reduce((total, each) => total + each[what], 0)
    return sum === counted[what] ? [] : `${sum} ${what} were audited, ${counted[what]} were counted`
  })
  return { claim: `all ${counted.files} files, ${counted.bytes} bytes, were audited`, problems }
}

/** @param {Evidence} evidence */
function stepsRan({ ledger, logs }) {
  const started = new Set(bodies(logs).map(({ id }) => id))
  const recorded = new Set(ledger.flatMap(({ id, steps }) => steps.map((step) => `${id} ${step}`)))
  const problems = [
    ...[...recorded]
      .filter((id) => !started.has(id))
      .map((id) => `step ${id} is recorded and was never started`),
    ...[...started]
      .filter((id) => !recorded.has(id))
      .map((id) => `step ${id} was started and is not recorded`),
  ]
  return { claim: `every step that was started is recorded, and no other (${recorded.size})`, problems }
}

/** @param {Evidence} evidence */
function repeatsAreExcused({ logs, kills }) {
  const killed = new Set(kills.map(({ log }) => log))
  /** @type {Map<string, ReturnType<typeof bodies>>} */
  const starts = new Map()
  for (const body of bodies(logs)) starts.set(body.id, [...(starts.get(body.id) ?? []), body])
  const problems = []
  for (const [id, all] of starts) {
    const superseded = all.sort((a, b) => a.fence - b.fence).slice(0, -1)
    for (const { log, run, fence } of superseded) {
      const isLost = logs[log]?.some(
        (event) => event.type === 'lost' && event.run === run && event.fence === fence,
      )
      if (!killed.has(log) && !isLost)
        problems.push(`step ${id} was repeated, though worker ${log + 1} lived and had its lease`)
    }
  }
  return { claim: 'no step was repeated but those whose worker died or lost its lease', problems }
}

/** @param {Evidence} evidence */
function allTakenOver(evidence) {
  const { times, missing } = takeovers(evidence)
  const problems = missing.map(({ run }) => `run ${run} was held by a killed worker and was not taken over`)
  return {
    claim: `every run that a killed worker held was taken over (${times.length + missing.length})`,
    problems,
  }
}

/**
 * How long each takeover took, in ms: from the SIGKILL until the run that the dead worker was executing was executing
 * again in another process.
 *
 * @param {Pick<Evidence, 'logs' | 'kills'>} evidence
 */
export function takeovers({ logs, kills }) {
  const begun = logs.flat().flatMap((event) => (event.type === 'began' ? event : []))
  /** @type {number[]} */
  const times = []
  /** @type {{ run: string, fence: number }[]} */
  const missing = []
  for (const { at, held } of kills) {
    for (const { run, fence } of held) {
      const next = begun.filter((event) => event.run === run && event.fence > fence).map((event) => event.at)
      if (next.length === 0) missing.push({ run, fence })
      else times.push(Math.min(...next) - at)
    }
  }
  return { times, missing }
}

/**
 * All step bodies that were started.
 *
 * @param {Evidence['logs']} logs
 */
export function bodies(logs) {
  return logs.flatMap((events, log) => {
    return events.flatMap((event) => {
      if (event.type !== 'body') return []
      return { id: `${event.run} ${event.step}`, run: event.run, fence: event.fence, log }
    })
  })
}

/**
 * @param {readonly string[]} expected
 * @param {readonly string[]} found
 */
function differences(expected, found) {
  /** @type {Map<string, number>} */
  const times = new Map()
  for (const path of found) times.set(path, (times.get(path) ?? 0) + 1)
  return [
    ...expected.filter((path) => !times.has(path)).map((path) => `${path} is missing`),
    ...[...times].filter(([, count]) => count > 1).map(([path, count]) => `${path} is there ${count} times`),
    ...[...times.keys()].filter((path) => !expected.includes(path)).map((path) => `${path} was not counted`),
  ]
}
