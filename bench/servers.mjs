// The servers to measure on: those that are named, else some that are started for the time of the measurement.
import { fileURLToPath } from 'node:url'
import { runnerImport } from 'vite'

/** A PostgreSQL whose commits wait for the disk. */
export async function postgresServer(url) {
  if (url !== undefined) return { url, stop: async () => {} }
  const { startPostgres } = await load('postgres')
  return await startPostgres({ fsync: true, settings: { shared_buffers: '256MB' } })
}

export async function mongoServer(url) {
  if (url !== undefined) return { url, name: 'mongod', stop: async () => {} }
  const { startMongo } = await load('mongo')
  return await startMongo()
}

/** A Redis that flushes each write before it answers, as the stores do. */
export async function redisServer(url) {
  if (url !== undefined) return { url, name: 'the given Redis', stop: async () => {} }
  const { startRedis } = await load('redis')
  const server = await startRedis({ appendonly: true, appendfsync: 'always' })
  return { url: server.url, name: 'Redis with appendfsync always', stop: () => server.stop() }
}

async function load(name) {
  const path = fileURLToPath(new URL(`../test/services/${name}.ts`, import.meta.url))
  return (await runnerImport(path)).module
}
