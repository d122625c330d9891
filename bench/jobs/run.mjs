// Fire-and-forget jobs through Perdure's transports beside plain BullMQ, first undisturbed, then with workers killed.
// `npm run bench:jobs`, options: see --help. Ends with 1 if a job of Perdure's was lost.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bootstrap } from '../../scripts/bootstrap.mjs'

const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '50000' },
    kills: { type: 'string', default: '20' },
    workers: { type: 'string', default: '2' },
    repeat: { type: 'string', default: '1' },
    transports: { type: 'string', default: 'store-sqlite,store-postgres,redis,bullmq' },
    redis: { type: 'string' },
    postgres: { type: 'string' },
    mongo: { type: 'string' },
    dir: { type: 'string', default: tmpdir() },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(`npm run bench:jobs -- [options]

  --jobs N           jobs per measurement (default: 50000)
  --kills N          workers that are killed in the second measurement (default: 20)
  --workers N        processes at a time (default: 2)
  --repeat N         repetitions (default: 1)
  --transports LIST  of store-sqlite, store-postgres, store-mongo, redis, bullmq
  --redis URL, --postgres URL, --mongo URL
                     servers to use (default: some are started; Redis with appendfsync always)
  --dir PATH         folder of the SQLite file and of the log
  --json`)
  process.exit(0)
}
bootstrap()

// Imported only now: they need what was installed and built.
const { mongoServer, postgresServer, redisServer } = await import('../servers.mjs')
const { campaign } = await import('./campaign.mjs')
const { jobsReport } = await import('./report.mjs')

const folder = mkdtempSync(join(values.dir, 'perdure-jobs-'))
const chosen = values.transports.split(',')
const needs = (name) => chosen.some((transport) => transport.endsWith(name))
const servers = {
  redis: needs('redis') || needs('bullmq') ? await redisServer(values.redis) : null,
  postgres: needs('postgres') ? await postgresServer(values.postgres) : null,
  mongo: needs('mongo') ? await mongoServer(values.mongo) : null,
}
let count = 0

function settingsOf(name) {
  count += 1
  const own = `jobs_${process.pid}_${count}`
  if (name === 'redis' || name === 'bullmq') return { type: name, at: servers.redis.url, name: own }
  const store = name.slice('store-'.length)
  const at = store === 'sqlite' ? join(folder, `${own}.db`) : servers[store].url
  return { type: 'store', store, at, name: own }
}

const results = []
try {
  for (let repetition = 0; repetition < Number(values.repeat); repetition++) {
    for (const kills of [0, Number(values.kills)]) {
      for (const name of chosen) {
        const size = { jobs: Number(values.jobs), workers: Number(values.workers), kills }
        const log = join(folder, `${count}.log`)
        results.push({ name, ...(await campaign({ transport: settingsOf(name), log, ...size })) })
      }
    }
  }
} finally {
  await Promise.all(Object.values(servers).map((server) => server?.stop()))
  rmSync(folder, { recursive: true, force: true })
}
console.log(
  values.json ? JSON.stringify(results) : jobsReport(results, { ...values, redis: servers.redis?.name }),
)
process.exitCode = results.some(({ name, lost }) => name !== 'bullmq' && lost > 0) ? 1 : 0
