// Prints the summary for people.

import { LEASE_MS } from './settings.mjs'

const MAX_LISTED = 10

/** @param {import('./summary.mjs').Summary} summary */
export function printReport(summary) {
  console.log(`\n${summary.root}\n`)
  if (summary.total.packages === 0) console.log('There are no packages here.')
  else printTable(summary)
  printFindings(summary)
  printCrashes(summary)
  printProofs(summary)
}

/** @param {import('./summary.mjs').Summary} summary */
function printTable({ licences, total }) {
  const rows = [
    ['licence', 'packages', 'files', 'bytes', 'gzipped'],
    ...[...licences, { licence: 'total', ...total }].map((row) => [
      printable(row.licence),
      ...[row.packages, row.files, row.bytes, row.gzipped].map((value) => value.toLocaleString('en')),
    ]),
  ]
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  for (const row of rows) {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0
      return column === 0 ? cell.padEnd(width) : cell.padStart(width)
    })
    console.log(`  ${cells.join('   ')}`)
  }
}

/** @param {import('./summary.mjs').Summary} summary */
function printFindings({ disagreements, unrecognised, undeclared, unreadable, withoutText }) {
  printList(
    'packages whose licence text is another licence than package.json declares',
    disagreements.map(({ path, declared, ofText }) => `${path}: declares ${declared}, the text is ${ofText}`),
  )
  printList('packages with a licence text that is not recognised', unrecognised)
  printList('packages that declare no licence', undeclared)
  printList(
    'packages with files that cannot be read',
    unreadable.map(({ path, first }) => `${path}: ${first.join(', ')}`),
  )
  if (withoutText > 0)
    console.log(`\npackages that declare a licence and do not contain its text: ${withoutText}`)
}

/** @param {import('./summary.mjs').Summary} summary */
function printCrashes({ seconds, workers, kills, seed, steps, leasesLost, takeovers }) {
  const killed = kills === 0 ? 'none was killed' : `${kills} were killed with SIGKILL (seed ${seed})`
  console.log(`\n${seconds.toFixed(1)} s with ${workers} worker processes, of which ${killed}`)
  if (leasesLost > 0) console.log(`${leasesLost} times a living worker was too slow to renew its lease`)
  console.log(
    `${steps.recorded} steps are recorded; ${steps.started} step bodies were started, ` +
      `so ${steps.repeated} were begun again`,
  )
  if (takeovers.longestMs === null) return
  console.log(
    `longest takeover: ${takeovers.longestMs} ms, from a SIGKILL until a run that the dead worker was executing was ` +
      `executing in another one (${takeovers.count} runs; the lease is ${LEASE_MS} ms)`,
  )
}

/** @param {import('./summary.mjs').Summary} summary */
function printProofs({ ok, proofs }) {
  console.log('')
  for (const { claim, problems } of proofs) {
    console.log(`${problems.length === 0 ? '✓' : '✗ NOT TRUE:'} ${claim}`)
    printItems(problems)
  }
  if (!ok) console.log('\nA proof has failed: this is a bug of perdure, or the folder was changed meanwhile.')
}

/**
 * @param {string} title
 * @param {string[]} items
 */
function printList(title, items) {
  if (items.length === 0) return
  console.log(`\n${title} (${items.length}):`)
  printItems(items)
}

/** @param {string[]} items */
function printItems(items) {
  for (const item of items.slice(0, MAX_LISTED)) console.log(`    ${printable(item)}`)
  if (items.length > MAX_LISTED) console.log(`    … and ${items.length - MAX_LISTED} more`)
}

/**
 * Names of files and licences are the work of others: control characters in them must not reach the terminal.
 *
 * @param {string} text
 */
function printable(text) {
  return text.replace(/\p{Cc}/gu, '�')
}
