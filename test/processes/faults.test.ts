/** Faults of the database and of the way to it, while workers and a client go on. Nothing may fail for that reason. */
import { MongoClient } from 'mongodb'
import pg from 'pg'
import { describe, onTestFinished, test } from 'vitest'
import { startMongo } from '../services/mongo.ts'
import { startPostgres } from '../services/postgres.ts'
import { serviceOrSkip } from '../services/service.ts'
import { startProxy, type TcpProxy } from '../services/tcp-proxy.ts'
import { Fleet } from './fleet.ts'
import { Dice, newWorld, sharedDatabases } from './kit.ts'
import { verify } from './truth.ts'

/** `npm run test:long` takes more: as many restarts, seconds and partitions as anybody could ask for. */
const isLong = process.env['PERDURE_LONG'] !== undefined
const RESTARTS = isLong ? 10 : 3
const CUT_MS = isLong ? 60_000 : 5_000
const PARTITIONS = isLong ? 5 : 1
const LEASE_MS = 1_000

/** A server of a test's own. */
interface Server {
  readonly url: string
  readonly port: number
  restart(proxy: TcpProxy): Promise<void>
  stop(): Promise<void>
  /** Ends all connections, as an operator or a failover would. */
  cut(proxy: TcpProxy): Promise<void>
}

const servers: Readonly<Record<string, () => Promise<Server>>> = {
  ...((await serviceOrSkip('postgres')) !== null && { PostgreSQL: ownPostgres }),
  ...((await serviceOrSkip('mongo')) !== null && { MongoDB: ownMongo }),
}

describe.each(Object.entries(servers))('on %s', (name, start) => {
  test('B123 B128 the database is restarted under load: no run fails for that, and nothing is done twice', async () => {
    const { fleet, server, proxy, end } = await underLoad(name, start)
    for (let restart = 0; restart < RESTARTS; restart++) {
      await fleet.workOn(20)
      await server.restart(proxy)
    }
    await end(`${RESTARTS} restarts`)
  })

  test('B128 connections that are cut every 100 ms cost time only', async () => {
    const { fleet, server, proxy, end } = await underLoad(name, start)
    await fleet.workOn(20)
    const endAt = Date.now() + CUT_MS
    let cuts = 0
    while (Date.now() < endAt) {
      await server.cut(proxy)
      cuts += 1
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await fleet.workOn(20)
    await end(`${cuts} cuts`)
  })

  test('B123 a network that drops, stalls and delays is survived', async () => {
    const { fleet, proxy, end } = await underLoad(name, start)
    for (let partition = 0; partition < PARTITIONS; partition++) {
      await fleet.workOn(20)
      proxy.drop()
      await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS))
      proxy.heal()
      await fleet.workOn(20)
      proxy.stall()
      await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS))
      proxy.heal()
      await fleet.workOn(20)
      proxy.delay(20)
      await fleet.workOn(20)
      proxy.heal()
    }
    await end(`${PARTITIONS} partitions of each kind`)
  })
})

test.each((await sharedDatabases()).filter(([, url]) => url !== null))(
  'X32 X50 workers whose clocks are ten minutes off lose nothing and take nothing from each other, on %s',
  async (_, url) => {
    const world = await newWorld(url)
    const clocks = [-600_000, 600_000]
    const fleet = new Fleet(world, { dice: new Dice(2), workers: 2, leaseMs: LEASE_MS, clocks })
    await fleet.ready()
    await fleet.workOn(100)
    await fleet.wind()
    await verify(world, fleet)
  },
)

/** Two workers and a client, who reach the server by way of a proxy. */
async function underLoad(name: string, start: () => Promise<Server>) {
  const server = await start()
  onTestFinished(() => server.stop())
  const proxy = await startProxy(server.port)
  onTestFinished(() => proxy.close())
  const world = await newWorld(proxy.url(server.url))
  const fleet = new Fleet(world, { dice: new Dice(1), workers: 2, leaseMs: LEASE_MS })
  await fleet.ready()
  const end = async (what: string): Promise<void> => {
    await fleet.wind()
    console.log(`faults.test.ts on ${name}, ${what}: ${await verify(world, fleet)}`)
  }
  return { server, proxy, fleet, end }
}

async function ownPostgres(): Promise<Server> {
  const server = await startPostgres()
  const { url, port } = server
  return {
    url,
    port,
    restart: () => server.restart('immediate'),
    stop: () => server.stop('immediate'),
    async cut() {
      const client = new pg.Client(url)
      await client.connect()
      await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      )
      await client.end()
    },
  }
}

async function ownMongo(): Promise<Server> {
  const server = await startMongo()
  const { url, port } = server
  return {
    url,
    port,
    async restart(proxy) {
      // The server in Java, which stands in for a real one, can lock up when many connect while it opens its file.
      proxy.drop()
      await server.restart()
      await openAll(url)
      proxy.heal()
    },
    stop: () => server.stop(),
    cut: async (proxy) => proxy.kill(),
  }
}

/** Has the server open every collection. */
async function openAll(url: string): Promise<void> {
  const client = new MongoClient(url)
  const db = client.db('perdure')
  for (const { name } of await db.listCollections().toArray()) await db.collection(name).findOne({})
  await client.close()
}
