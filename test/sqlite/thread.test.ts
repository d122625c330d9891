import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { ThreadClient } from '../../src/stores/sqlite/client.ts'
import { startThread } from '../../src/stores/sqlite/start-thread.ts'
import { threadedStore } from '../../src/stores/sqlite/store.ts'
import { createOf, newRun, T } from '../../src/testing/store-suite/fixture.ts'
import { databaseOptions, openConnection, openStore, temporaryFolder } from './helpers.ts'

test('rejects what a dying thread left unanswered, and starts another', async () => {
  const path = join(await temporaryFolder(), 'work.db')
  const threads: Worker[] = []
  const client = new ThreadClient('test', () => {
    const thread = startThread(databaseOptions(path))
    threads.push(thread)
    return thread
  })
  const store = threadedStore('test', client)
  onTestFinished(() => store.close())
  await store.migrate()
  await store.commit([createOf({ id: 'a' })], T)

  // No request at all: the thread dies of it. (Terminating it inside a call of the driver would end the process.)
  threads[0]?.postMessage(null)
  const unanswered = store.getRun('a')
  await expect(unanswered).rejects.toMatchObject({ failure: 'unavailable' })
  expect((await store.getRun('a'))?.id).toBe('a')
  expect(threads).toHaveLength(2)
})

test('does not block the main thread while another process holds the lock', async () => {
  const path = join(await temporaryFolder(), 'work.db')
  const store = openStore(path)
  await store.migrate()
  const other = await openConnection(path)
  other.exec('BEGIN IMMEDIATE')
  const waiting = store.commit([createOf({ id: 'a' })], T)
  // Only a main thread that is free can let go of the lock.
  await new Promise((resolve) => setImmediate(resolve))
  other.exec('COMMIT')
  expect((await waiting)[0]?.status).toBe('ok')
})

test('says so when another process does not let go of its lock in time, and works on', async () => {
  const path = join(await temporaryFolder(), 'work.db')
  const store = openStore(path, { busyTimeout: 20 })
  await store.migrate()
  const other = await openConnection(path)
  other.exec('BEGIN IMMEDIATE')
  const attempt = store.commit([createOf({ id: 'a' })], T)
  await expect(attempt).rejects.toMatchObject({ failure: 'unavailable' })
  await expect(attempt).rejects.toThrow('locked by another process')
  other.exec('ROLLBACK')
  await store.commit([createOf({ id: 'a' })], T)
})

test('answers calls that were waiting together one by one', async () => {
  const store = openStore(join(await temporaryFolder(), 'work.db'))
  await store.migrate()
  const results = await Promise.all([
    store.commit([createOf({ id: 'a' })], T),
    store.claim({ worker: 'w', workflows: [{ name: 'order', version: '' }], queues: null, limit: 1, now: T }),
    store.heartbeat({ id: 'w', leaseMs: 1_000, register: true }, T),
    store.commit([createOf({ id: 'a' })], T),
    store.getRun('a'),
  ])
  const [created, claimed, beat, again, read] = results
  expect(created[0]?.status).toBe('ok')
  expect(claimed.map(({ id }) => id)).toEqual(['a'])
  expect(beat).toEqual({ alive: true, held: [{ id: 'a', fence: 1, deliveries: 0 }] })
  expect(again[0]?.status).toBe('existing')
  expect(read?.status).toBe('running')
})

test('does not let a write that cannot be stored harm the calls that waited with it', async () => {
  const store = openStore(join(await temporaryFolder(), 'work.db'))
  await store.migrate()
  const broken = {
    ...createOf({ id: 'b' }),
    run: { ...newRun({ id: 'b' }), queue: null as unknown as string },
  }
  const [before, failed, after] = await Promise.all([
    store.commit([createOf({ id: 'a' })], T),
    store.commit([broken], T),
    store.commit([createOf({ id: 'c' })], T),
  ])
  expect(before[0]?.status).toBe('ok')
  expect(failed[0]?.status).toBe('error')
  expect(after[0]?.status).toBe('ok')
})
