// Reads from the store what was recorded: every run of the audit, with its journal. All through the public interface of
// the engine, as a tool of yours would.

/**
 * `steps`: the names of the steps in its journal whose body succeeded. `audit` is the output of a run of one package.
 *
 * @typedef {object} RecordedRun
 * @property {string} id
 * @property {string} workflow
 * @property {string} status
 * @property {string[]} steps
 * @property {import('./workflows.mjs').PackageAudit | null} audit
 */

/**
 * @param {import('perdure').Engine} engine
 * @returns {Promise<RecordedRun[]>}
 */
export async function readLedger(engine) {
  /** @type {RecordedRun[]} */
  const ledger = []
  for (let cursor; cursor !== null; ) {
    /** @type {import('perdure').RunPage} */
    const page = await engine.listRuns({ limit: 1000, cursor })
    for (const { id, workflow, status } of page.runs) {
      const isPackage = workflow === 'audit package' && status === 'completed'
      /** @type {import('perdure').RunHandle<import('./workflows.mjs').PackageAudit>} */
      const handle = engine.getHandle(id)
      const { entries } = await handle.history()
      const steps = entries.filter(({ kind, status }) => kind === 'step' && status === 'succeeded')
      const audit = isPackage ? await handle.result() : null
      ledger.push({ id, workflow, status, steps: steps.map(({ name }) => name), audit })
    }
    cursor = page.cursor
  }
  return ledger
}
