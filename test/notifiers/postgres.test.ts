import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import pg, { type Pool, type PoolConfig } from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { MAX_MESSAGE_BYTES } from '../../src/notifiers/hints.ts'
import { channelOf } from '../../src/notifiers/postgres/channel.ts'
import { PostgresHub, type PostgresHubOptions } from '../../src/notifiers/postgres/index.ts'
import type { Hint } from '../../src/ports/notifier.ts'
import { startPostgres } from '../services/postgres.ts'
import { serviceOrSkip } from '../services/service.ts'
import { startProxy } from '../services/tcp-proxy.ts'
import { built, Ear, ended, MemoryLog, Notes, QUICK, run } from './kit.ts'

const shared = await serviceOrSkip('postgres')
const url = shared ?? ''

interface Station {
  readonly hub: PostgresHub
  readonly ear: Ear
  readonly log: MemoryLog
  readonly pool: Pool
  publish(...hints: readonly Hint[]): void
}

/** A hub with a pool of its own, as that of another process, and one subscriber. */
function station(
  database: string,
  { schema = 'perdure', config = {}, ...options }: Partial<PostgresHubOptions> & { config?: PoolConfig } = {},
): Station {
  const pool = new pg.Pool({ connectionString: database, max: 2, allowExitOnIdle: true, ...config })
  pool.on('error', () => {})
  const log = new MemoryLog()
  const hub = new PostgresHub({ pool: async () => pool, schema, timings: QUICK, ...options })
  const notifier = hub.notifier(log)
  const ear = new Ear()
  notifier.subscribe(ear.listen)
  onTestFinished(async () => {
    await hub.close()
    await pool.end()
  })
  return { hub, ear, log, pool, publish: (...hints) => notifier.publish(hints) }
}

function freshName(): string {
  return `test_${randomBytes(8).toString('hex')}`
}

async function query(text: string, values: unknown[] = []): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

/** The processes of the server that listen to the channel of this schema. */
async function listeners(schema: string): Promise<readonly unknown[]> {
  const rows = await query('SELECT pid FROM pg_stat_activity WHERE query = $1', [
    `LISTEN "${channelOf(schema)}"`,
  ])
  return rows.map((row) => row['pid'])
}

async function terminateListeners(schema: string): Promise<number> {
  const pids = await listeners(schema)
  for (const pid of pids) await query('SELECT pg_terminate_backend($1)', [pid])
  return pids.length
}

/** A server that lets everybody in and ends the connection, both in the same packet. Returns its URL. */
async function startFarewell(): Promise<string> {
  const message = (type: string, ...parts: readonly (string | readonly number[])[]): Buffer => {
    const body = Buffer.concat(
      parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))),
    )
    const head = Buffer.alloc(5, type)
    head.writeInt32BE(body.length + 4, 1)
    return Buffer.concat([head, body])
  }
  const welcome = [message('R', [0, 0, 0, 0]), message('Z', 'I')]
  const end = message('E', 'SFATAL\0C57P01\0Mterminating connection\0\0')
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(Buffer.concat([...welcome, end])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The system gave no port.')
  return `postgres://perdure@127.0.0.1:${address.port}/postgres`
}

describe.skipIf(shared === null)('hints over PostgreSQL', () => {
  test('hubs hear each other, whatever the schema is called and the ids are', async () => {
    for (const schema of [freshName(), `"'\\${freshName()}`, 'ß'.repeat(31), 'x'.repeat(63)]) {
      const a = station(url, { schema })
      const b = station(url, { schema })
      await Promise.all([a.ear.listens(), b.ear.listens()])
      const ids = ['plain', "it's", 'a\\b', '\0', '\ud800', '😀', '$$', 'é']
      a.publish(...ids.map(ended), { kind: 'due', at: 1_234.5 })
      for (const id of ids) await b.ear.hears(id)
      expect(b.ear.all).toContainEqual({ kind: 'due', at: 1_234.5 })
      expect([...a.log.all, ...b.log.all]).toEqual([])
    }
  })

  test('hubs of other schemas hear nothing of it', async () => {
    const [here, elsewhere] = [freshName(), freshName()]
    const a = station(url, { schema: here })
    const b = station(url, { schema: elsewhere })
    const b2 = station(url, { schema: elsewhere })
    await Promise.all([a.ear.listens(), b.ear.listens(), b2.ear.listens()])
    a.publish(ended('mine'))
    b2.publish(ended('other'))
    await b.ear.hears('other')
    expect(b.ear.all).not.toContainEqual(ended('mine'))
  })

  test('subscribers of the same hub hear at once, and once', async () => {
    const schema = freshName()
    const a = station(url, { schema })
    const b = station(url, { schema })
    const second = new Ear()
    a.hub.notifier(a.log).subscribe(second.listen)
    await Promise.all([a.ear.listens(), b.ear.listens()])
    a.publish(ended('first'))
    expect(second.all).toContainEqual(ended('first'))
    // What comes back by way of the database has come before the answer to this.
    b.publish(ended('answer'))
    await second.hears('answer')
    await a.ear.hears('answer')
    expect(second.all.filter((hint) => hint.kind === 'ended')).toEqual([ended('first'), ended('answer')])
    expect(a.ear.all.filter((hint) => hint.kind === 'ended')).toEqual([ended('first'), ended('answer')])
  })

  test('hints of more than a message holds are split', async () => {
    const schema = freshName()
    const a = station(url, { schema })
    const b = station(url, { schema })
    await b.ear.listens()
    const ids = Array.from({ length: 60 }, (_, i) => `${i}-`.padEnd(256, '\u0001'))
    expect(JSON.stringify(ids).length).toBeGreaterThan(5 * MAX_MESSAGE_BYTES)
    a.publish(...ids.map(ended))
    for (const id of ids) await b.ear.hears(id)
    expect(a.log.all).toEqual([])
  })

  test('a server that reads backslashes in strings is told the same', async () => {
    const schema = freshName()
    const config = { options: '-c standard_conforming_strings=off' }
    const a = station(url, { schema, config })
    const b = station(url, { schema })
    await b.ear.listens()
    a.publish(ended("\\'; é"))
    await b.ear.hears("\\'; é")
    expect(a.log.all).toEqual([])
  })

  test('the engines of a process share one connection, which closes with the last of them', async () => {
    const schema = freshName()
    const { hub, ear, log } = station(url, { schema })
    const more = [hub.notifier(log), hub.notifier(log)]
    const stops = more.map((notifier) => notifier.subscribe(() => {}))
    await ear.listens()
    expect(await listeners(schema)).toHaveLength(1)
    for (const notifier of more) await notifier.close()
    for (const stop of stops) stop()
    expect(await listeners(schema)).toHaveLength(1)
    await hub.close()
    expect(await listeners(schema)).toHaveLength(0)
  })

  test('what was published last is sent before a notifier is closed, and nothing after', async () => {
    const schema = freshName()
    const { ear } = station(url, { schema })
    const { hub, log } = station(url, { schema })
    await ear.listens()
    const notifier = hub.notifier(log)
    notifier.publish([ended('last')])
    await notifier.close()
    notifier.publish([ended('late')])
    await ear.hears('last')
    const other = hub.notifier(log)
    other.publish([ended('other')])
    await ear.hears('other')
    expect(ear.all).not.toContainEqual(ended('late'))
  })

  test('a pool that is used up keeps nobody from hearing', async () => {
    const schema = freshName()
    const a = station(url, { schema })
    const taken = [await a.pool.connect(), await a.pool.connect()]
    const b = station(url, { schema })
    await a.ear.listens()
    b.publish(ended('heard'))
    await a.ear.hears('heard')
    for (const client of taken) client.release()
    expect(a.log.all).toEqual([])
  })

  test('a subscriber that throws does not keep the others from hearing', async () => {
    const { hub, log } = station(url, { schema: freshName() })
    const ear = new Ear()
    const notifier = hub.notifier(log)
    notifier.subscribe(() => {
      throw new Error('not this one')
    })
    notifier.subscribe(ear.listen)
    notifier.publish([ended('heard')])
    expect(ear.all).toContainEqual(ended('heard'))
  })

  test('B124 B128: a listening connection that the server ends is rebuilt, and subscribers look for what they missed', async () => {
    const schema = freshName()
    const a = station(url, { schema })
    const b = station(url, { schema })
    await Promise.all([a.ear.listens(), b.ear.listens()])
    for (let times = 2; times <= 6; times++) {
      expect(await terminateListeners(schema)).toBe(2)
      await Promise.all([a.ear.listens(times), b.ear.listens(times)])
    }
    a.publish(ended('after'))
    await b.ear.hears('after')
    expect(await listeners(schema)).toHaveLength(2)
    expect(b.log.all).toHaveLength(1)
    expect(b.log.all[0]).toContain('listening for hints over PostgreSQL failed')
  })

  test('B127: where LISTEN hears nothing, that is told once, and nothing else happens', async () => {
    const schema = freshName()
    let clients = 0
    class Pooled extends pg.Client {
      constructor(config?: string | pg.ClientConfig) {
        super(config)
        clients += 1
      }
      override emit(event: string, ...args: unknown[]): boolean {
        return event !== 'notification' && super.emit(event, ...args)
      }
    }
    const timings = { ...QUICK, answer: 300, quiet: 0 }
    const deaf = station(url, { schema, config: { Client: Pooled }, timings })
    const other = station(url, { schema })
    await other.ear.listens()
    // One for the pool, and one for each time that it has tried to listen.
    await deaf.ear.listens(4)
    expect(clients).toBeGreaterThanOrEqual(4)
    expect(deaf.log.all).toEqual(['LISTEN does not work here (a pooler in transaction mode?): workers poll'])
    deaf.publish(ended('said'))
    await other.ear.hears('said')
  })

  test('B124: a half-open connection is noticed', async () => {
    const schema = freshName()
    const proxy = await startProxy(Number(new URL(url).port))
    onTestFinished(() => proxy.close())
    const a = station(proxy.url(url), { schema })
    const b = station(url, { schema })
    await Promise.all([a.ear.listens(), b.ear.listens()])
    proxy.stall()
    await a.log.told('listening for hints over PostgreSQL failed; trying again, workers poll meanwhile')
    expect(a.log.all[0]).toContain('no answer within')
    proxy.heal()
    await a.ear.listens(2)
    b.publish(ended('after'))
    await a.ear.hears('after')
  })

  test('B126: a database that is down for long is told once, and nothing is thrown', async () => {
    const schema = freshName()
    const proxy = await startProxy(Number(new URL(url).port))
    onTestFinished(() => proxy.close())
    const a = station(proxy.url(url), { schema })
    const b = station(url, { schema })
    await Promise.all([a.ear.listens(), b.ear.listens()])
    let attempts = 0
    a.pool.on('connect', () => {
      attempts += 1
    })
    proxy.drop()
    a.publish(ended('lost'))
    await a.log.told('sending hints over PostgreSQL failed')
    for (let i = 0; i < 2_000; i++) a.publish(ended(`lost-${i}`))
    await a.log.told('listening for hints over PostgreSQL failed')
    proxy.heal()
    await a.ear.listens(2)
    a.publish(ended('after'))
    await b.ear.hears('after')
    expect(a.log.all).toHaveLength(2)
    expect(attempts).toBeLessThan(20)
  })

  test('B124 B128: after a restart of the server hints go as before', async () => {
    const server = await startPostgres()
    onTestFinished(() => server.stop('immediate'))
    const a = station(server.url)
    const b = station(server.url)
    await Promise.all([a.ear.listens(), b.ear.listens()])
    for (const mode of ['fast', 'immediate'] as const) {
      const [heardA, heardB] = [a.ear.callsToLook, b.ear.callsToLook]
      await server.restart(mode)
      await Promise.all([a.ear.listens(heardA + 1), b.ear.listens(heardB + 1)])
      a.publish(ended(mode))
      await b.ear.hears(mode)
    }
  })

  test('B128: a server that goes away as soon as a connection is made ends nobody', async () => {
    const schema = freshName()
    const server = await startFarewell()
    const { log, publish } = station(server)
    publish(ended(schema))
    await log.told('listening for hints over PostgreSQL failed')
    await log.told('sending hints over PostgreSQL failed')
    expect(log.all.join()).toMatch(/terminating|terminated/)
  })

  test('a pool that cannot be made is told, and closing does not wait for it', async () => {
    const log = new MemoryLog()
    const hub = new PostgresHub({
      pool: () => Promise.reject(new Error('no driver')),
      schema: 's',
      timings: QUICK,
    })
    const notifier = hub.notifier(log)
    notifier.subscribe(() => {})
    notifier.publish([ended('a')])
    await log.told(
      'listening for hints over PostgreSQL failed; trying again, workers poll meanwhile Error: no driver',
    )
    await log.told(
      'sending hints over PostgreSQL failed; other workers find the work when they poll Error: no driver',
    )
    await notifier.close()
    await hub.close()
  })

  test('who unsubscribes at once has connected to nothing', async () => {
    let asked = false
    const pool = async (): Promise<Pool> => {
      asked = true
      throw new Error('not needed')
    }
    const hub = new PostgresHub({ pool, schema: 's' })
    const notifier = hub.notifier(new MemoryLog())
    notifier.subscribe(() => {})()
    await notifier.close()
    await hub.close()
    hub.notifier(new MemoryLog()).subscribe(() => {})()
    expect(asked).toBe(false)
  })

  test('closing does not wait for a connection that does not come', async () => {
    const proxy = await startProxy(Number(new URL(url).port))
    onTestFinished(() => proxy.close())
    proxy.stall()
    const timings = { ...QUICK, answer: 600_000, farewell: 600_000 }
    const connected = new Notes<string>()
    class Client extends pg.Client {
      constructor(config?: string | pg.ClientConfig) {
        super(config)
        connected.note('connecting')
      }
    }
    const { hub, log } = station(proxy.url(url), { timings, config: { Client } })
    await connected.until('it connects', ({ length }) => length > 0)
    await hub.close()
    expect(log.all).toEqual([])
  })

  const program = (database: string, rest: string): string => `
    import pg from 'pg'
    import { PostgresHub } from ${built('notifiers/postgres/index.js')}
    const connectionString = ${JSON.stringify(database)}
    const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 1_000, allowExitOnIdle: true })
    const timings = { answer: 1_000 }
    const hub = new PostgresHub({ pool: async () => pool, schema: 'exit', timings })
    const notifier = hub.notifier({ warn: () => console.log('warned') })
    const listens = new Promise((resolve) => notifier.subscribe((hints) => hints[0].kind === 'due' && resolve()))
    ${rest}
  `
  const listening = `
    const busy = setInterval(() => {}, 1_000)
    await listens
    clearInterval(busy)
    notifier.publish([{ kind: 'ended', runId: 'x' }])
    console.log('listens')
  `

  test('a process that listens ends by itself', async () => {
    expect(await run(program(url, listening))).toBe('listens\n')
  })

  test('a process that waits for the end of a hub comes to its own end', async () => {
    const ending = 'await notifier.close(); await hub.close(); await pool.end(); console.log("closed")'
    expect(await run(program(url, `${listening}${ending}`))).toBe('listens\nclosed\n')
  })

  test.each(['drop', 'stall'] as const)(
    'a process whose database is gone ends by itself (%s)',
    async (how) => {
      const proxy = await startProxy(Number(new URL(url).port))
      onTestFinished(() => proxy.close())
      proxy[how]()
      const publish = `notifier.publish([{ kind: 'ended', runId: 'x' }])`
      expect(await run(program(proxy.url(url), publish))).toMatch(/^(warned\n)*$/)
    },
  )
})
