// A worker: a process that claims runs from the store and executes them, until it is told to stop or is killed.
// This is all that a worker of yours needs as well: an engine with the workflows, and `work()`.

import { createEngine } from 'perdure'
import { LEASE_MS, POLL_INTERVAL_MS, RUNS_PER_WORKER } from './settings.mjs'
import { openStore } from './store.mjs'
import { workerLog } from './worker-log.mjs'
import { audit, auditPackage } from './workflows.mjs'

const [place = '', logPath = ''] = process.argv.slice(2)

const engine = createEngine({
  store: openStore(JSON.parse(place)),
  workflows: [audit, auditPackage],
  lease: LEASE_MS,
  pollInterval: POLL_INTERVAL_MS,
  // A run that kills its workers ends as failed, by default after ten deaths. Here the runs are innocent.
  maxDeaths: 1000,
  // The list of the packages of a large folder is a large value, and makes a long journal.
  maxValueBytes: 64 * 1024 * 1024,
  maxJournalEntries: 1_000_000,
  ...workerLog(logPath),
})

// The process that started this one stops it by closing the channel between them; its death does the same.
process.on('disconnect', stop)
await engine.work({ concurrency: RUNS_PER_WORKER })
process.send?.('working')
if (!process.connected) await stop()

async function stop() {
  await engine.close({ timeout: '2s' })
  process.exit()
}
