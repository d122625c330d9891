import { once } from 'node:events'
import { createServer } from 'node:net'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { PostgresHub } from '../../src/notifiers/postgres/index.ts'
import { startPostgres } from '../services/postgres.ts'
import { startProxy } from '../services/tcp-proxy.ts'
import { ended, MemoryLog, Notes, QUICK } from './kit.ts'
import { freshName, listeners, query, shared, station, url } from './postgres-kit.ts'

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

describe.skipIf(shared === null)('outages of hints over PostgreSQL', () => {
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
})
