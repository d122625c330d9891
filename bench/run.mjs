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
    stores: { type: 'string', default: 'memory,sqlite,postgres' },
    postgres: { type: 'string' },
    mongo: { type: 'string' },
    dir: { type: 'string', default: tmpdir() },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(`npm run bench -- [options]

  --stores LIST    of memory, sqlite, postgres and mongo (default: memory,sqlite,postgres)
  --postgres URL   a server to use (default: one is started, with fsync)
  --mongo URL      the same (default: a mongod, or else a server in Java, whose figures say little)
  --runs N         one-step runs per measurement (default: 5000; a fifth of runs of ten steps)
  --repeat N       repetitions (default: 3)
  --in-flight N    runs at a time (default: 50)
  --dir PATH       folder of the SQLite file
  --json`)
  process.exit(0)
}
bootstrap()

// Imported only now: they need what was installed and built.
const { bareCommits, bareSql, replayOnStore } = await import('./limit.mjs')
const { report } = await import('./report.mjs')
const { mongoServer, postgresServer } = await import('./servers.mjs')
const { lone, throughput } = await import('./workloads.mjs')
const { mongo } = await import('perdure/mongo')
const { postgres } = await import('perdure/postgres')
const { sqlite } = await import('perdure/sqlite')
const { memory } = await import('perdure/memory')
const folder = await mkdtemp(join(values.dir, 'perdure-bench-'))
const chosen = new Set(values.stores.split(','))
const servers = {
  postgres: chosen.has('postgres') ? await postgresServer(values.postgres) : null,
  mongo: chosen.has('mongo') ? await mongoServer(values.mongo) : null,
}
let files = 0
const stores = {
  ...(chosen.has('memory') && { memory: () => memory() }),
  ...(chosen.has('sqlite') && {
    'sqlite FULL': () => sqlite(join(folder, `${files++}.db`)),
    'sqlite NORMAL': () => sqlite(join(folder, `${files++}.db`), { synchronous: 'normal' }),
  }),
  ...(servers.postgres && {
    postgres: () => postgres(servers.postgres.url, { schema: `bench_${process.pid}_${files++}` }),
  }),
  ...(servers.mongo && {
    [`mongo (${servers.mongo.name})`]: () =>
      mongo(servers.mongo.url, { prefix: `bench_${process.pid}_${files++}_` }),
  }),
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
    results.push({
      store,
      lone: await lone(open, 1),
      loneTen: await lone(open, 10),
      twoCommits: store === 'postgres' ? await bareCommits(servers.postgres.url) : null,
    })
  }
}
await servers.postgres?.stop()
await servers.mongo?.stop()
await rm(folder, { recursive: true, force: true })
console.log(values.json ? JSON.stringify(results, null, 2) : report(results))
