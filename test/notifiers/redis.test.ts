import { randomBytes } from 'node:crypto'
import { Cluster, Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { redisNotifier } from '../../src/notifiers/redis/index.ts'
import { makeNotifier } from '../../src/notifiers/redis/notifier.ts'
import type { Hint, Notifier } from '../../src/ports/notifier.ts'
import { startRedis } from '../services/redis.ts'
import { serviceOrSkip } from '../services/service.ts'
import { startProxy } from '../services/tcp-proxy.ts'
import { built, Ear, ended, MemoryLog, QUICK, run } from './kit.ts'

const shared = await serviceOrSkip('redis')
const url = shared ?? ''

interface Station {
  readonly notifier: Notifier
  readonly ear: Ear
  readonly log: MemoryLog
  publish(...hints: readonly Hint[]): void
}

/** A notifier as that of another process, with one subscriber. */
function station(server: Parameters<typeof redisNotifier>[0], channel = 'perdure', timings = QUICK): Station {
  const log = new MemoryLog()
  const notifier = makeNotifier(server, { channel, log }, timings)
  const ear = new Ear()
  notifier.subscribe(ear.listen)
  onTestFinished(() => notifier.close())
  return { notifier, ear, log, publish: (...hints) => notifier.publish(hints) }
}

function freshName(): string {
  return `test_${randomBytes(8).toString('hex')}`
}

/** A client of the application. */
function client(server = url): Redis {
  const redis = new Redis(server)
  redis.on('error', () => {})
  onTestFinished(() => redis.disconnect())
  return redis
}

describe.skipIf(shared === null)('hints over Redis', () => {
  test('notifiers hear each other, whatever the channel is called and the ids are', async () => {
    for (const channel of [freshName(), `${freshName()} é*?\n`]) {
      const a = station(url, channel)
      const b = station({ host: '127.0.0.1', port: Number(new URL(url).port), db: 3 }, channel)
      await Promise.all([a.ear.listens(), b.ear.listens()])
      const ids = ['plain', '\0', '\ud800', '😀', 'é', 'x'.repeat(256)]
      a.publish(...ids.map(ended), { kind: 'due', at: 1_234.5 })
      for (const id of ids) await b.ear.hears(id)
      expect(b.ear.all).toContainEqual({ kind: 'due', at: 1_234.5 })
      expect([...a.log.all, ...b.log.all]).toEqual([])
    }
  })

  test('other channels are others', async () => {
    const elsewhere = freshName()
    const a = station(url, freshName())
    const [b, b2] = [station(url, elsewhere), station(url, elsewhere)]
    await Promise.all([a.ear.listens(), b.ear.listens(), b2.ear.listens()])
    a.publish(ended('mine'))
    b2.publish(ended('other'))
    await b.ear.hears('other')
    expect(b.ear.all).not.toContainEqual(ended('mine'))
  })

  test('subscribers of the same notifier hear at once, and once', async () => {
    const channel = freshName()
    const [a, b] = [station(url, channel), station(url, channel)]
    const second = new Ear()
    a.notifier.subscribe(second.listen)
    await Promise.all([a.ear.listens(), b.ear.listens()])
    a.publish(ended('first'))
    expect(second.all).toContainEqual(ended('first'))
    b.publish(ended('answer'))
    await second.hears('answer')
    expect(second.all.filter((hint) => hint.kind === 'ended')).toEqual([ended('first'), ended('answer')])
  })

  test('hints of more than a message holds are split', async () => {
    const channel = freshName()
    const [a, b] = [station(url, channel), station(url, channel)]
    await b.ear.listens()
    const ids = Array.from({ length: 60 }, (_, i) => `${i}-`.padEnd(256, '\u0001'))
    a.publish(...ids.map(ended))
    for (const id of ids) await b.ear.hears(id)
  })

  test("hints go over the application's client, which is left as it was", async () => {
    const channel = freshName()
    const redis = client()
    const [a, b] = [station(redis, channel), station(url, channel)]
    await Promise.all([a.ear.listens(), b.ear.listens()])
    a.publish(ended('there'))
    await b.ear.hears('there')
    b.publish(ended('back'))
    await a.ear.hears('back')
    await a.notifier.close()
    expect(redis.status).toBe('ready')
    expect(await redis.ping()).toBe('PONG')
    expect(await redis.pubsub('NUMSUB', channel)).toEqual([channel, 1])
  })

  test('of messages by others nothing is made', async () => {
    const channel = freshName()
    const a = station(url, channel)
    await a.ear.listens()
    const before = a.ear.all.length
    const redis = client()
    for (const text of ['', 'hello', '[]', '{"a":1}', '[1,"x","now",7,[null]]', '\ud800']) {
      await redis.publish(channel, text)
    }
    await redis.publish(channel, '[1,"x",null,[],["end"]]')
    await a.ear.hears('end')
    expect(a.ear.all.slice(before)).toEqual([ended('end')])
  })

  test('the connection that listens is closed with its last subscriber, and opened for the next', async () => {
    const channel = freshName()
    const notifier = makeNotifier(url, { channel }, QUICK)
    onTestFinished(() => notifier.close())
    const ears = [new Ear(), new Ear()]
    const stops = ears.map((ear) => notifier.subscribe(ear.listen))
    await Promise.all(ears.map((ear) => ear.listens()))
    for (const stop of stops) stop()
    const again = new Ear()
    notifier.subscribe(again.listen)
    await again.listens()
    await notifier.close()
    notifier.publish([ended('late')])
    expect(notifier.subscribe(again.listen)).toBeInstanceOf(Function)
    expect(again.all).not.toContainEqual(ended('late'))
  })

  test('B122 B123: after each restart of the server hints go as before', async () => {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    const redis = client(server.url)
    const [a, b, c] = [station(server.url), station(server.url), station(redis)]
    await Promise.all([a.ear.listens(), b.ear.listens(), c.ear.listens()])
    for (let times = 2; times <= 6; times++) {
      await server.restart()
      await Promise.all([a.ear.listens(times), b.ear.listens(times), c.ear.listens(times)])
      a.publish(ended(`of a, ${times}`))
      await Promise.all([b.ear.hears(`of a, ${times}`), c.ear.hears(`of a, ${times}`)])
    }
    for (const { log } of [a, b, c]) expect(log.all).toHaveLength(1)
    expect(a.log.all[0]).toContain('listening for hints over Redis failed')
  })

  test('B123: a half-open connection is noticed', async () => {
    const channel = freshName()
    const proxy = await startProxy(Number(new URL(url).port))
    onTestFinished(() => proxy.close())
    const [a, b] = [station(proxy.url(url), channel), station(url, channel)]
    await Promise.all([a.ear.listens(), b.ear.listens()])
    proxy.stall()
    await a.log.told('listening for hints over Redis failed; trying again, workers poll meanwhile')
    expect(a.log.all[0]).toContain('no answer within')
    proxy.heal()
    await a.ear.listens(2)
    b.publish(ended('after'))
    await a.ear.hears('after')
  })

  test('B126: a server that is down for long is told once, and nothing is thrown', async () => {
    const channel = freshName()
    const proxy = await startProxy(Number(new URL(url).port))
    onTestFinished(() => proxy.close())
    const redis = client(proxy.url(url))
    const [a, b, c] = [station(proxy.url(url), channel), station(url, channel), station(redis, channel)]
    await Promise.all([a.ear.listens(), b.ear.listens(), c.ear.listens()])
    proxy.drop()
    for (const broken of [a, c]) {
      await broken.log.told('listening for hints over Redis failed')
      for (let i = 0; i < 2_000; i++) broken.publish(ended(`lost-${i}`))
      await broken.log.told('sending hints over Redis failed')
    }
    proxy.heal()
    await Promise.all([a.ear.listens(2), c.ear.listens(2)])
    a.publish(ended('after'))
    await b.ear.hears('after')
    for (const broken of [a, c]) expect(broken.log.all).toHaveLength(2)
  })

  test('closing does not wait for a connection that does not come', async () => {
    const proxy = await startProxy(Number(new URL(url).port))
    onTestFinished(() => proxy.close())
    proxy.stall()
    const timings = { ...QUICK, answer: 600_000, farewell: 600_000 }
    const { notifier, log } = station(proxy.url(url), 'perdure', timings)
    await new Promise((resolve) => setImmediate(resolve))
    await notifier.close()
    expect(log.all).toEqual([])
  })

  const program = (server: string, rest: string): string => `
    import { makeNotifier } from ${built('notifiers/redis/notifier.js')}
    import { TIMINGS } from ${built('notifiers/time.js')}
    const log = { warn: () => console.log('warned') }
    const notifier = makeNotifier(${JSON.stringify(server)}, { log }, { ...TIMINGS, answer: 1_000 })
    const listens = new Promise((resolve) => notifier.subscribe((hints) => hints[0].kind === 'due' && resolve()))
    ${rest}
  `
  const listening = `
    const busy = setInterval(() => {}, 1_000)
    await listens
    clearInterval(busy)
    notifier.publish([{ kind: 'ended', runId: 'last' }])
    console.log('listens')
  `

  test('a process that listens ends by itself, after what it had to say', async () => {
    const { ear } = station(url)
    await ear.listens()
    expect(await run(program(url, listening))).toBe('listens\n')
    await ear.hears('last')
  })

  test('a process that waits for the end of a notifier comes to its own end', async () => {
    const ending = 'await notifier.close(); console.log("closed")'
    expect(await run(program(url, `${listening}${ending}`))).toBe('listens\nclosed\n')
  })

  test.each(['drop', 'stall'] as const)('a process whose server is gone ends by itself (%s)', async (how) => {
    const proxy = await startProxy(Number(new URL(url).port))
    onTestFinished(() => proxy.close())
    proxy[how]()
    const publish = `notifier.publish([{ kind: 'ended', runId: 'x' }])`
    expect(await run(program(proxy.url(url), publish))).toMatch(/^(warned\n)*$/)
  })
})

describe('the arguments of redisNotifier', () => {
  const nodeRedis = { duplicate: () => ({}), publish: () => ({}), isOpen: true }

  test.each([undefined, null, 7, '', 'localhost', 'http://localhost', [], () => {}, nodeRedis])(
    '%o is no server',
    (server) => {
      expect(() => redisNotifier(server as never)).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining('redisNotifier'),
        }),
      )
    },
  )

  test('the password of a wrong URL is not told', () => {
    expect(() => redisNotifier('http://me:secret@host')).toThrow(/^(?!.*secret).*$/)
  })

  test('for a cluster it says what to give instead', () => {
    const cluster = new Cluster([], { lazyConnect: true })
    expect(() => redisNotifier(cluster as never)).toThrow('give redisNotifier the URL of one of them')
  })

  test.each([{ channel: '' }, { channel: 7 }, { log: null }, { log: {} }, null, 'perdure'])(
    '%o are no options',
    (options) => {
      expect(() => redisNotifier('redis://localhost', options as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      )
    },
  )

  test('nothing is connected before somebody subscribes or publishes', async () => {
    const notifier = redisNotifier('redis://127.0.0.1:1')
    notifier.subscribe(() => {})()
    await notifier.close()
  })
})
