// The two workflows of the demo. Start reading here.
//
// A workflow is a function. What it does to the world, or learns from it, stands in steps: `step.do(name, body)`
// runs the body once and writes what it returned to the run's journal. If the process dies, another worker calls the
// function again from the top, and every step that is in the journal returns its recorded result without running its
// body. So the function arrives where it was, and goes on.
//
// That works because the code between the steps is deterministic: given the same results, it asks for the same steps.
// The clock, chance and files are therefore only looked at inside step bodies.

import { basename, join } from 'node:path'
import { defineWorkflow } from 'perdure'
import { classifyLicence } from './licences.mjs'
import {
  compressPart,
  findLicenceText,
  findPackages,
  hashFiles,
  partCount,
  readManifest,
} from './packages.mjs'

/** How many packages are audited at the same time, by all workers together. */
const PACKAGES_AT_ONCE = 12

/**
 * Audits one package. Every value that it needs from a step is returned by the step, and is read back from the
 * journal if the run goes on in another process.
 */
export const auditPackage = defineWorkflow(
  { name: 'audit package' },
  /** @param {import('perdure').WorkflowContext<{ root: string, path: string }>} context */
  async ({ input: { root, path }, step }) => {
    const folder = join(root, path)
    const manifest = await step.do('read manifest', () => readManifest(folder))
    const { sha256, files, bytes, unreadable } = await step.do('hash files', () => hashFiles(folder))

    // Long work is cut into several steps, so that a crash costs one part of it and not the whole. `map` makes one
    // step of each item, here two at a time.
    const parts = Array.from({ length: partCount(bytes) }, (_, part) => part)
    const compressed = await step.map('compress', parts, (part) => compressPart(folder, part), {
      concurrency: 2,
    })

    const text = await step.do('find licence text', () => findLicenceText(folder))
    const licence = await step.do('classify licence', () => classifyLicence(manifest.licence, text))

    // What is returned is the output of the run, and the result of the step of the parent that waits for it.
    const gzipped = compressed.reduce((sum, size) => sum + size, 0)
    const name = manifest.name ?? basename(path)
    return { path, name, version: manifest.version, sha256, files, bytes, gzipped, unreadable, ...licence }
  },
)

/** @typedef {Awaited<ReturnType<typeof auditPackage.call>>} PackageAudit */

/** Audits all packages of a folder: one child run each, on whichever worker has room. */
export const audit = defineWorkflow(
  { name: 'audit' },
  /** @param {import('perdure').WorkflowContext<{ root: string }>} context */
  async ({ input: { root }, step }) => {
    const packages = await step.do('find packages', () => findPackages(root))

    // A step may also be a workflow: it starts a child run and waits for it. A parent that waits holds no worker, and
    // the child is created in the same write as the step, so neither can exist without the other. All these steps
    // have the same name; the journal calls them `audit package`, `audit package#2`, and so on.
    return await mapLimited(packages, PACKAGES_AT_ONCE, (path) => {
      return step.do('audit package', auditPackage, { root, path })
    })
  },
)

/**
 * Calls `task` for every item, at most `limit` at a time. It is plain code, and deterministic: the journal holds the
 * order in which the steps ended, a replay ends them in the same order, so the lanes draw the same items.
 *
 * @template Item, Output
 * @param {readonly Item[]} items
 * @param {number} limit
 * @param {(item: Item) => Promise<Output>} task
 * @returns {Promise<Output[]>} in the order of the items
 */
async function mapLimited(items, limit, task) {
  /** @type {Output[]} */
  const outputs = new Array(items.length)
  const queue = items.entries()
  const lane = async () => {
    for (const [index, item] of queue) outputs[index] = await task(item)
  }
  await Promise.all(Array.from({ length: limit }, lane))
  return outputs
}
