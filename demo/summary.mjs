// What the demo found out, as plain data: the report prints it, `--json` shows it as it is.

import { bodies, prove, takeovers } from './proofs.mjs'

/**
 * @param {{ root: string, seed: number, seconds: number }} about
 * @param {import('./proofs.mjs').Evidence} evidence
 */
export function summarize(about, evidence) {
  const { result, ledger, logs, kills } = evidence
  const proofs = prove(evidence)
  const { times } = takeovers(evidence)
  const recorded = ledger.reduce((sum, { steps }) => sum + steps.length, 0)
  const started = bodies(logs).length
  return {
    ok: proofs.every(({ problems }) => problems.length === 0),
    ...about,
    licences: licenceTable(result),
    total: totalOf(result),
    disagreements: result
      .filter(({ verdict }) => verdict === 'differ')
      .map(({ path, declared, ofText }) => ({ path, declared, ofText })),
    withoutText: result.filter(({ verdict }) => verdict === 'declared only').length,
    unrecognised: result.filter(({ verdict }) => verdict === 'unrecognised text').map(({ path }) => path),
    undeclared: result.filter(({ declared }) => declared === null).map(({ path }) => path),
    unreadable: result
      .filter(({ unreadable }) => unreadable.count > 0)
      .map(({ path, unreadable }) => ({ path, ...unreadable })),
    workers: logs.length,
    kills: kills.length,
    steps: { recorded, started, repeated: started - recorded },
    leasesLost: logs.flat().filter((event) => event.type === 'log' && event.message.startsWith(LOST)).length,
    takeovers: { count: times.length, longestMs: times.length === 0 ? null : Math.max(...times) },
    proofs,
  }
}

/** @typedef {ReturnType<typeof summarize>} Summary */

/** How the engine begins its message when a living worker could not renew its lease in time. */
const LOST = 'the lease is lost'

/**
 * One row per licence, the most used first.
 *
 * @param {readonly import('./workflows.mjs').PackageAudit[]} audits
 */
function licenceTable(audits) {
  /** @type {Map<string, import('./workflows.mjs').PackageAudit[]>} */
  const groups = new Map()
  for (const each of audits) groups.set(each.licence, [...(groups.get(each.licence) ?? []), each])
  return [...groups]
    .map(([licence, group]) => ({ licence, ...totalOf(group) }))
    .sort((a, b) => b.packages - a.packages || (a.licence < b.licence ? -1 : 1))
}

/** @param {readonly import('./workflows.mjs').PackageAudit[]} audits */
function totalOf(audits) {
  /** @param {'files' | 'bytes' | 'gzipped'} what */
  const sum = (what) => audits.reduce((total, each) => total + each[what], 0)
  return { packages: audits.length, files: sum('files'), bytes: sum('bytes'), gzipped: sum('gzipped') }
}
