import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freshSchema } from '../services/schema.ts'
import { service } from '../services/service.ts'
import { makeFolder, perdure } from './tools.ts'

describe('perdure migrate', () => {
  it('tells with --dry-run what it would do, and does not even create the file', async () => {
    const folder = makeFolder()
    const before = readdirSync(folder)
    const { code, stdout } = await perdure(folder, ['migrate', '--dry-run'])
    expect(code).toBe(0)
    expect(stdout).toContain('needs 2 steps:\n  1  initial\n')
    expect(readdirSync(folder)).toEqual(before)
  })

  it('leaves a database of another program untouched on a dry run', async () => {
    const folder = makeFolder()
    const path = join(folder, 'empty.db')
    writeFileSync(path, '')
    const { stdout } = await perdure(folder, ['migrate', '--dry-run', '--store', 'empty.db'])
    expect(stdout).toContain('needs 2 steps')
    expect(readFileSync(path)).toHaveLength(0)
  })

  it('brings a file up to date once', async () => {
    const folder = makeFolder()
    expect((await perdure(folder, ['migrate'])).stdout).toContain('was brought up to date in 2 steps:')
    expect((await perdure(folder, ['migrate'])).stdout).toContain('is up to date.')
    expect((await perdure(folder, ['migrate', '--dry-run'])).stdout).toContain('is up to date.')
  })

  it('takes the URL of a server, as the other commands do', async () => {
    const folder = makeFolder()
    const { schema, dispose } = freshSchema(await service('postgres'))
    onTestFinished(dispose)
    const url = new URL(await service('postgres'))
    url.searchParams.set('schema', schema)
    const on = async (...args: string[]) => await perdure(folder, [...args, '--store', url.href])
    expect((await on('runs', 'list')).stderr).toContain('STORE_FOREIGN')
    expect(JSON.parse((await on('migrate', '--dry-run', '--json')).stdout)).toMatchObject({
      dryRun: true,
      steps: [{ number: 1, name: 'initial' }],
    })
    expect((await on('migrate')).stdout).toContain('was brought up to date in 1 step:')
    expect((await on('run', 'app.mjs', 'greet', '--id', 'first')).code).toBe(0)
    expect((await on('runs', 'list')).stdout).toContain('first')
  })
})
