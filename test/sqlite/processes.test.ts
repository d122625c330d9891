import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrations } from '../../src/stores/sqlite/schema.ts'
import { openConnection, openStore, runProcess, temporaryFolder } from './helpers.ts'

const policy = { retry: null, timeout: null, retention: 1_000, call: null }
const fixed = { workflow: 'w', version: '', queue: 'q', priority: 0, tags: [], input: '1', policy, dueAt: 1 }
const run = JSON.stringify({ ...fixed, parentId: null, parentStep: null, entries: [] })

test('lets four processes read and write the same file at once without a busy error', async () => {
  const path = join(await temporaryFolder(), 'work.db')
  const store = openStore(path)
  await store.migrate()
  // Creating looks whether the key is free before it inserts; claiming looks for what is due before it updates.
  const work = (process: number): string => `
    const store = sqlite(${JSON.stringify(path)})
    let claimed = 0
    for (let i = 0; i < 250; i++) {
      const run = { ...${run}, id: \`${process}-\${i}\`, key: \`key-\${i}\` }
      await store.commit([{ type: 'create', run, claimedBy: null }], 1)
      const workflows = [{ name: 'w', version: '' }]
      const runs = await store.claim({ worker: 'worker-${process}', workflows, queues: null, limit: 1, now: 2 })
      claimed += runs.length
    }
    console.log(claimed)`
  const claimed = await Promise.all([1, 2, 3, 4].map((process) => runProcess(work(process))))
  const left = (await store.listRuns({ limit: 1_000, status: ['pending'] })).runs.length
  const total = (await store.stats()).reduce((sum, { count }) => sum + count, 0)
  expect(total).toBe(250)
  expect(claimed.reduce((sum, text) => sum + Number(text), 0) + left).toBe(250)
})

test('lets ten processes set up an empty file at once', async () => {
  const path = join(await temporaryFolder(), 'work.db')
  const code = `
    const store = sqlite(${JSON.stringify(path)})
    await store.migrate()
    console.log((await store.stats()).length)`
  const outputs = await Promise.all(Array.from({ length: 10 }, () => runProcess(code)))
  expect(outputs).toEqual(Array.from({ length: 10 }, () => '0\n'))
  const rows = (await openConnection(path)).prepare('SELECT number FROM perdure_migrations').all()
  expect(rows).toHaveLength(migrations.length)
})

test('does not keep a process alive that forgot to close it', async () => {
  const path = join(await temporaryFolder(), 'work.db')
  const output = await runProcess(`await sqlite(${JSON.stringify(path)}).migrate(); console.log('done')`)
  expect(output).toBe('done\n')
})

test('keeps a process alive while a call waits', async () => {
  const path = join(await temporaryFolder(), 'work.db')
  const output = await runProcess(`sqlite(${JSON.stringify(path)}).migrate().then(() => console.log('done'))`)
  expect(output).toBe('done\n')
})
