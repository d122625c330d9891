// Measures Perdure beside the raw limit of the same machine in the same run. `npm run bench`, options: see --help.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bootstrap } from '../scripts/bootstrap.mjs'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5000' },
    repeat: { type: 'string', default: '3' },
    'in-flight': { type: 'string', default: '50' },
    dir: { type: 'string', default: tmpdir() },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(
    'npm run bench -- [--runs N] [--repeat N] [--in-flight N] [--dir PATH of the SQLite file] [--json]',
  )
  process.exit(0)
}
bootstrap()

// Imported only now: they need what was installed and built.
const { bareSql, replayOnStore } = await import('./limit.mjs')
const { report } = await import('./report.mjs')
const { lone, throughput } = await import('./workloads.mjs')
const { sqlite } = await import('perdure/sqlite')
const { memory } = await import('perdure/memory')
const folder = await mkdtemp(join(values.dir, 'perdure-bench-'))
let files = 0
const stores = {
  memory: () => memory(),
  'sqlite FULL': () => sqlite(join(folder, `${files++}.db`)),
  'sqlite NORMAL': () => sqlite(join(folder, `${files++}.db`), { synchronous: 'normal' }),
}
const size = { runs: Number(values.runs), inFlight: Number(values['in-flight']) }

const results = []
for (let repetition = 0; repetition < Number(values.repeat); repetition++) {
  // Interleaved, so that a machine whose speed drifts does not favour whoever comes first.
  for (const [store, open] of Object.entries(stores)) {
    for (const steps of [1, 10]) {
      const runs = Math.ceil(size.runs / (steps === 1 ? 1 : 5))
      const { batches, ...measured } = await throughput(open, { ...size, runs, steps })
      const limit = await replayOnStore(open, batches)
      const bare = store.startsWith('sqlite')
        ? await bareSql(join(folder, `${files++}.db`), batches, store.endsWith('FULL') ? 'FULL' : 'NORMAL')
        : null
      results.push({ store, steps, ...measured, storeAlone: limit, bareSql: bare })
    }
    results.push({ store, lone: await lone(open, 1), loneTen: await lone(open, 10) })
  }
}
await rm(folder, { recursive: true, force: true })
console.log(values.json ? JSON.stringify(results, null, 2) : report(results))
