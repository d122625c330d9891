import type { Pool } from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { MAX_MESSAGE_BYTES } from '../../src/notifiers/hints.ts'
import { PostgresHub } from '../../src/notifiers/postgres/index.ts'
import { startProxy } from '../services/tcp-proxy.ts'
import { built, Ear, ended, MemoryLog, run } from './kit.ts'
import { freshName, listeners, shared, station, url } from './postgres-kit.ts'

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
