import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createEngine, defineWorkflow } from '../../src/index.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { startProxy } from '../services/tcp-proxy.ts'
import { ground, newRun } from './kit.ts'

test('X30 steps that use up a pool of two do not keep themselves from being finished', async () => {
  const { url, schema } = await ground()
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  onTestFinished(() => pool.end())
  const query = defineWorkflow({ name: 'query' }, async ({ step }) => {
    for (let i = 0; i < 3; i++) {
      await step.do(`query ${i}`, async () => {
        const client = await pool.connect()
        await client.query('SELECT pg_sleep(0.01)')
        client.release()
      })
    }
    return 'done'
  })
  const engine = createEngine({ store: postgres(pool, { schema }), workflows: [query], log: quiet })
  onTestFinished(() => engine.close())
  await engine.work()
  const handles = await Promise.all(Array.from({ length: 40 }, () => engine.startWorkflow(query, null)))
  expect(new Set(await Promise.all(handles.map((handle) => handle.result())))).toEqual(new Set(['done']))
})

test('a pool of one works, too', async () => {
  const { open } = await ground()
  const store = open({ connections: 1 })
  await store.migrate()
  const calls = [
    store.stats(),
    store.commit([{ type: 'create', run: newRun('a', 1), claimedBy: null }], 1),
    store.clock?.(),
    store.heartbeat({ id: 'w', leaseMs: 9, register: true }, 1),
  ]
  await expect(Promise.all(calls)).resolves.toHaveLength(4)
})

test('a pool is given back as it was: its connections keep the process alive again', async () => {
  const { url, schema } = await ground()
  const program = `
    import pg from 'pg'
    import { postgres } from 'perdure/postgres'
    const pool = new pg.Pool({ connectionString: ${JSON.stringify(url)}, max: 2 })
    const store = postgres(pool, { schema: ${JSON.stringify(schema)} })
    await store.migrate()
    await store.heartbeat({ id: 'w', leaseMs: 9, register: true }, 1)
    await store.close()
    await pool.query('SELECT pg_sleep(0.2)')
    console.log('still here')
    await pool.end()`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program])
  expect(stdout).toBe('still here\n')
})

test('a call that gets no answer is given up, and the next one finds another connection', async () => {
  const { url, schema } = await ground()
  const proxy = await startProxy(Number(new URL(url).port))
  onTestFinished(() => proxy.close())
  const store = postgres(proxy.url(url), { schema, timeout: 300 })
  onTestFinished(() => store.close())
  await store.migrate()
  const create = { type: 'create', run: newRun('a', 1), claimedBy: null } as const
  proxy.stall()
  await expect(store.commit([create], 1)).rejects.toMatchObject({ failure: 'unavailable' })
  proxy.heal()
  expect((await store.commit([create], 1))[0]?.status).toMatch(/ok|existing/)
  expect(await store.getRun('a')).toMatchObject({ id: 'a', status: 'pending' })
})

test('an idle worker asks less than once a second, however many workflows and queues', async () => {
  const { url, schema, sql } = await ground()
  const workflows = Array.from({ length: 50 }, (_, i) => defineWorkflow({ name: `w${i}` }, () => null))
  const name = `idle ${schema}`
  const pool = new pg.Pool({ connectionString: url, application_name: name })
  let calls = 0
  const { query } = pg.Client.prototype
  // Counted at the one place that all go through.
  pool.on('connect', (client) => {
    client.query = ((...args: Parameters<typeof query>) => {
      calls += 1
      return Reflect.apply(query, client, args)
    }) as typeof client.query
  })
  const engine = createEngine({ store: postgres(pool, { schema }), workflows, log: quiet })
  onTestFinished(async () => {
    await engine.close()
    await pool.end()
  })
  await engine.work({ queues: Array.from({ length: 20 }, (_, i) => `q${i}`) })
  const before = calls
  await sql('SELECT pg_sleep(10)')
  expect(calls - before).toBeGreaterThan(3)
  expect(calls - before).toBeLessThanOrEqual(10)
})

const run = promisify(execFile)
const ignore = (): void => {}
const quiet = { debug: ignore, info: ignore, warn: ignore, error: ignore }
