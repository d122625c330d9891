import { MongoClient } from 'mongodb'
import { describe, expect, it, onTestFinished } from 'vitest'
import { mongo } from '../../src/stores/mongo/index.ts'

const NOWHERE = 'mongodb://someone:secret@127.0.0.1:1/shop'

describe('the arguments of the MongoDB store', () => {
  it.each([
    ['nothing', undefined, {}],
    ['an empty URL', '', {}],
    ['a URL of something else', 'postgres://localhost/shop', {}],
    ['an object that is no client', {}, {}],
    ['a database without a name', 'mongodb://localhost', { database: '' }],
    ['a database with a wrong name', 'mongodb://localhost', { database: 'a.b' }],
    ['an empty prefix', 'mongodb://localhost', { prefix: '' }],
    ['a prefix that is reserved', 'mongodb://localhost', { prefix: 'system.' }],
    ['a prefix with a "$"', 'mongodb://localhost', { prefix: 'a$' }],
    ['a timeout of 0', 'mongodb://localhost', { timeout: 0 }],
    ['a timeout that is no number', 'mongodb://localhost', { timeout: '1s' }],
  ])('are refused: %s', (_, source, options) => {
    // What a caller without types may do.
    const call = mongo as (source: unknown, options: unknown) => unknown
    expect(() => call(source, options)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })

  it('may not name a database besides a database', () => {
    const client = new MongoClient('mongodb://localhost')
    expect(() => mongo(client.db('a'), { database: 'b' })).toThrow('makes no sense together')
  })

  it('give the store a name without the password', () => {
    expect(mongo(NOWHERE).name).toBe('mongo (127.0.0.1:1/shop)')
    expect(mongo('mongodb://u:p%40ss@a:1,b:2/?replicaSet=r').name).toBe('mongo (a:1,b:2/perdure)')
    expect(mongo('mongodb+srv://u:p@cluster.example').name).toBe('mongo (cluster.example/perdure)')
    expect(mongo('mongodb://a/shop', { database: 'other' }).name).toBe('mongo (a/other)')
  })

  it('may name a server that is not there: calls reject, and tell no password', async () => {
    const store = mongo(NOWHERE, { timeout: 200 })
    onTestFinished(() => store.close())
    const error: unknown = await store.getRun('a').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(String(error)).not.toContain('secret')
  })
})
