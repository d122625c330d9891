import { MongoClient } from 'mongodb'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startMongo } from '../services/mongo.ts'
import { serviceOrSkip } from '../services/service.ts'

const url = await serviceOrSkip('mongo')

describe.skipIf(url === null)('MongoDB for tests', () => {
  it('keeps its port and its data over a restart', async () => {
    const server = await startMongo()
    onTestFinished(() => server.stop())
    const client = new MongoClient(server.url)
    onTestFinished(() => client.close())
    const kept = client.db('test').collection<{ _id: string }>('kept')
    await kept.insertOne({ _id: 'a' })
    const { pid, port } = server
    await server.restart()
    expect(await kept.find().toArray()).toEqual([{ _id: 'a' }])
    expect(server.pid).not.toBe(pid)
    expect(server.port).toBe(port)
    expect(server.server).toMatch(/mongo.* \d+\.\d+/)
  })

  it('is gone when it was stopped', async () => {
    const server = await startMongo()
    await server.stop()
    const client = new MongoClient(server.url, { serverSelectionTimeoutMS: 100 })
    onTestFinished(() => client.close())
    await expect(client.db('test').command({ ping: 1 })).rejects.toThrow('ECONNREFUSED')
    expect(() => process.kill(server.pid, 0)).toThrow('ESRCH')
  })
})
