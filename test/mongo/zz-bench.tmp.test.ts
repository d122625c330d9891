import { it } from 'vitest'
import { MongoClient } from 'mongodb'
import { startMongo } from '../services/mongo.ts'
import { mongo } from '../../src/stores/mongo/index.ts'
import { advanceOf, createOf, entryOf, T, started } from '../../src/testing/store-suite/fixture.ts'
it('bench', async () => {
const server = await startMongo()
console.log(server.name)
const client = new MongoClient(server.url)
const store = mongo(client, { database: 'bench' })
await store.migrate()
const runs = []
for (let i = 0; i < 50; i++) runs.push(await started(store, { id: `r${i}` }))
const value = JSON.stringify('x'.repeat(100))
for (let round = 0; round < 6; round++) {
  const t = performance.now()
  for (let n = 1; n <= 20; n++) await store.commit(runs.map((run) => advanceOf(run, null, { number: round * 20 + n, entries: [entryOf(`s${round}.${n}`, { value })] })), T)
  const ms = performance.now() - t
  console.log('50 advances/commit', (ms / 20).toFixed(1), 'ms per commit', Math.round(1000 * 1000 / ms), 'advances/s')
}
const one = await started(store, { id: 'long' })
const times: number[] = []
for (let i = 1; i <= 5100; i++) {
  const t = performance.now()
  await store.commit([advanceOf(one, null, { number: i, entries: [entryOf(`step ${i}`, { value })] })], T)
  times.push(performance.now() - t)
}
for (const [a, b] of [[10, 110], [1000,1500],[2500, 3000], [4500, 5000], [4950, 5050]] as const) {
  const s = times.slice(a, b).sort((x, y) => x - y)
  console.log(`steps ${a}..${b}: mean ${(s.reduce((x, y) => x + y, 0) / s.length).toFixed(2)} median ${s[s.length >> 1]?.toFixed(2)} p99 ${s[Math.floor(s.length * .99)]?.toFixed(2)} max ${s.at(-1)?.toFixed(2)}`)
}
let t = performance.now(); await store.journal(['long'], { entries: true }); console.log('journal of 5,100', (performance.now() - t).toFixed(0))
t = performance.now()
for (let i = 0; i < 20; i++) await store.commit(Array.from({ length: 50 }, (_, j) => createOf({ id: `c${i}.${j}` })), T)
console.log('50 creates/commit', ((performance.now() - t) / 20).toFixed(1), 'ms')
t = performance.now(); let c = 0
for (let i = 0; i < 20; i++) c += (await store.claim({ worker: 'w', workflows: [{ name: 'order', version: '' }], queues: null, limit: 50, now: T })).length
console.log('claims of 50', ((performance.now() - t) / 20).toFixed(1), 'ms', c)
await store.close(); await client.close(); await server.stop()
}, 300_000)
