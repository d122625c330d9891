import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Broker } from './broker.ts'
import { startPostgres } from './postgres.ts'
import { startRedis } from './redis.ts'
import { freshSchema } from './schema.ts'
import { serviceOrSkip } from './service.ts'
import { startProxy, type TcpProxy } from './tcp-proxy.ts'

const postgresUrl = await serviceOrSkip('postgres')
const redisUrl = await serviceOrSkip('redis')

describe.skipIf(postgresUrl === null)('PostgreSQL for tests', () => {
  it('keeps its port and its data over a restart and a crash', async () => {
    const server = await startPostgres()
    onTestFinished(() => server.stop())
    await sql(server.url, 'CREATE TABLE kept AS SELECT 1 AS n')
    const { pid, url } = server
    await server.restart('fast')
    await server.restart('immediate')
    expect(await sql(url, 'SELECT n FROM kept')).toEqual([{ n: 1 }])
    expect(server.pid).not.toBe(pid)
  })

  it('answers no more once it is stopped', async () => {
    const server = await startPostgres({ settings: { max_connections: '7' } })
    expect(await sql(server.url, 'SHOW max_connections')).toEqual([{ max_connections: '7' }])
    await server.stop('immediate')
    await expect(sql(server.url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED')
  })

  it('says what the server printed when it does not start', async () => {
    await expect(startPostgres({ settings: { nonsense: 'on' } })).rejects.toThrow(
      'unrecognized configuration parameter "nonsense"',
    )
  })

  it('does not outlive the process that started it', async () => {
    const program = `
      import { runnerImport } from 'vite'
      const { module } = await runnerImport(${JSON.stringify(new URL('./postgres.ts', import.meta.url).pathname)})
      const { url, pid } = await module.startPostgres()
      console.log(JSON.stringify({ url, pid }))
      setInterval(() => {}, 1000)
    `
    const { url, pid } = await lineOf(program)
    await gone(pid)
    await expect(sql(url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED')
  })

  it('gives a schema that can be dropped with all that it holds, and without having been made', async () => {
    const url = postgresUrl ?? ''
    const { schema, dispose } = freshSchema(url)
    await dispose()
    await sql(url, `CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.t (n int)`)
    await dispose()
    expect(await sql(url, `SELECT 1 FROM pg_namespace WHERE nspname = '${schema}'`)).toEqual([])
  })
})

describe.skipIf(redisUrl === null)('Redis for tests', () => {
  it.each([
    { appendonly: true, kept: '1' },
    { appendonly: false, kept: null },
  ])('after a restart with appendonly $appendonly has kept $kept', async ({ appendonly, kept }) => {
    const server = await startRedis({ appendonly, appendfsync: 'always' })
    onTestFinished(() => server.stop())
    const client = new Redis(server.url)
    client.on('error', () => {})
    onTestFinished(() => client.disconnect())
    await client.set('a', '1')
    await server.restart()
    expect(await client.get('a')).toBe(kept)
  })
})

describe('the broker', () => {
  it('starts a service once, and stops it in the end', async () => {
    let started = 0
    let stopped = 0
    const stop = async (): Promise<void> => {
      stopped += 1
    }
    const start = async () => {
      started += 1
      return { url: 'a:', stop }
    }
    const broker = new Broker({ a: { variable: 'PERDURE_TEST_A', start } })
    const address = await broker.open()
    const answers = await Promise.all([1, 2, 3].map(async () => (await fetch(`${address}/a`)).json()))
    await broker.close()
    expect(answers).toEqual([{ url: 'a:' }, { url: 'a:' }, { url: 'a:' }])
    expect([started, stopped]).toEqual([1, 1])
  })
})

describe('the proxy', () => {
  it('forwards more than fits into its buffers, both ways, and an orderly end', async () => {
    const { proxy } = await echo()
    const socket = await dial(proxy)
    const sent = Buffer.alloc(20_000_000, 'x')
    socket.end(sent)
    expect((await received(socket)).length).toBe(sent.length)
  })

  it('drops connections, refuses new ones, and lets them in again', async () => {
    const { proxy } = await echo()
    const socket = await dial(proxy)
    proxy.drop()
    await expect(received(socket)).rejects.toThrow('ECONNRESET')
    await expect(roundTrip(proxy)).rejects.toThrow('ECONNRESET')
    proxy.heal()
    expect(await roundTrip(proxy)).toBe('hello')
  })

  it('kills the connections of the moment only', async () => {
    const { proxy } = await echo()
    const socket = await dial(proxy)
    proxy.kill()
    await expect(received(socket)).rejects.toThrow('ECONNRESET')
    expect(await roundTrip(proxy)).toBe('hello')
  })

  it('stalls: forwards nothing of old and new connections until it is healed, then everything', async () => {
    const { proxy, heard } = await echo()
    const old = await dial(proxy)
    proxy.stall()
    old.end('old')
    const young = await dial(proxy)
    young.end('young')
    await delay(100)
    expect(heard()).toBe('')
    proxy.heal()
    expect([String(await received(old)), String(await received(young))]).toEqual(['old', 'young'])
  })

  it('does not tell the server of a client that is gone while it stalls', async () => {
    const { proxy, open } = await echo()
    const socket = await dial(proxy)
    await until(() => open() === 1)
    proxy.stall()
    socket.resetAndDestroy()
    await delay(100)
    expect(open()).toBe(1)
    proxy.heal()
    await until(() => open() === 0)
  })

  it('delays both ways, and keeps the order', async () => {
    const { proxy } = await echo()
    proxy.delay(60)
    const startedAt = performance.now()
    const socket = await dial(proxy)
    for (const part of ['a', 'b', 'c']) socket.write(part)
    socket.end()
    expect(String(await received(socket))).toBe('abc')
    expect(performance.now() - startedAt).toBeGreaterThan(115)
  })
})

async function sql(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Kills a process as soon as it has printed a line. Returns the line. */
async function lineOf(program: string): Promise<{ url: string; pid: number }> {
  const argv = ['--input-type=module', '-e', program]
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  child.kill('SIGKILL')
  return JSON.parse(String(line))
}

async function gone(pid: number): Promise<void> {
  await until(() => !existsSync(`/proc/${pid}`))
}

async function until(condition: () => boolean): Promise<void> {
  const giveUpAt = Date.now() + 30_000
  while (!condition()) {
    if (Date.now() > giveUpAt) throw new Error('It did not happen.')
    await delay(5)
  }
}

interface Echo {
  readonly proxy: TcpProxy
  /** All that the server was sent. */
  heard(): string
  /** How many connections the server has. */
  open(): number
}

async function echo(): Promise<Echo> {
  const sockets = new Set<Socket>()
  let heard = ''
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (chunk) => {
      if (heard.length < 1000) heard += String(chunk)
    })
    socket.pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The system gave no port.')
  const proxy = await startProxy(address.port)
  onTestFinished(async () => {
    await proxy.close()
    server.close()
  })
  return { proxy, heard: () => heard, open: () => sockets.size }
}

async function dial(proxy: TcpProxy): Promise<Socket> {
  const socket = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true })
  await once(socket, 'connect')
  return socket
}

async function received(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function roundTrip(proxy: TcpProxy): Promise<string> {
  const socket = await dial(proxy)
  socket.end('hello')
  return String(await received(socket))
}
