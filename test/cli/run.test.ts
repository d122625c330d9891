import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeFolder, perdure, perdureJson, start, until } from './tools.ts'

function addPackage(folder: string, name: string, manifest: object): void {
  const place = join(folder, 'node_modules', name)
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name, ...manifest }))
  const code = `import { defineWorkflow } from 'perdure'
export default defineWorkflow({ name: 'packaged' }, () => 'from a package')`
  writeFileSync(join(place, 'index.js'), code)
}

describe('perdure run', () => {
  it('prints the output of the run as JSON, and nothing else, to standard output', async () => {
    const folder = makeFolder()
    const { code, stdout, stderr } = await perdure(folder, ['run', 'app.mjs', 'greet', '--input', '"Ada"'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '"Hello, Ada!"\n' })
    expect(stderr).toMatch(/^Run [\w-]+ of greet is started\.\n$/)
    expect(existsSync(join(folder, 'perdure.db'))).toBe(true)
  })

  it('finds modules and stores in folders whose names need escaping in URLs', async () => {
    const folder = makeFolder('a b#%20')
    const args = ['run', './app.mjs', 'greet', '--input', '"Ada"', '--store', 's #%.db']
    expect(await perdure(folder, args)).toMatchObject({ code: 0, stdout: '"Hello, Ada!"\n' })
    expect(existsSync(join(folder, 's #%.db'))).toBe(true)
  })

  it('prints the whole run with --json, and takes keys for what they are', async () => {
    const folder = makeFolder()
    const args = ['run', 'app.mjs', 'sum', '--input', '{"a":1,"b":2}', '--key', '007', '--id', '1e3']
    expect(await perdureJson(folder, args)).toMatchObject({
      id: '1e3',
      workflow: 'sum',
      key: '007',
      status: 'completed',
      input: { a: 1, b: 2 },
      output: 3,
      error: null,
    })
  })

  it('finds the run that holds the key, and says that the input is another one', async () => {
    const folder = makeFolder()
    await perdure(folder, ['run', 'app.mjs', 'greet', '--input', '"Ada"', '--key', 'k'])
    const again = await perdure(folder, ['run', 'app.mjs', 'greet', '--input', '"Bob"', '--key', 'k'])
    expect(again).toMatchObject({ code: 0, stdout: '"Hello, Ada!"\n' })
    expect(again.stderr).toMatch(/was found.*\nIts input is another one/)
  })

  it('ends with 1 when the run fails, and tells its error with the causes, which cannot drive the terminal', async () => {
    const { code, stdout, stderr } = await perdure(makeFolder(), ['run', 'app.mjs', 'fails'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(
      'Error: No luck\\x1b[31m at attempt 2\n  caused by TypeError: The cable is cut\n',
    )
    expect(stderr).not.toContain('\x1b')
    expect(stderr).not.toContain('    at ')
  })

  it("shows the stack of the run's error with --verbose, and what happens", async () => {
    const { stderr } = await perdure(makeFolder(), ['run', 'app.mjs', 'fails', '--verbose'])
    expect(stderr).toMatch(/ {2}fails {2}[\w-]+ {2}try: runs, attempt 2\n/)
    expect(stderr).toMatch(/\n\s+at .*app\.mjs/)
  })

  it('ends with 2 when the run is cancelled', async () => {
    const { code, stderr } = await perdure(makeFolder(), ['run', 'app.mjs', 'cancels'])
    expect(code).toBe(2)
    expect(stderr).toContain('not needed')
  })

  it('ends with 3 when the run is paused, since it will not end', async () => {
    const folder = makeFolder()
    const { stdout: id } = await perdure(folder, ['run', 'app.mjs', 'greet', '--key', 'k', '--no-wait'])
    await perdure(folder, ['runs', 'pause', id.trim()])
    const { code, stderr } = await perdure(folder, ['run', 'app.mjs', 'greet', '--key', 'k'])
    expect(code).toBe(3)
    expect(stderr).toContain('is paused')
  })

  it('only starts the run with --no-wait', async () => {
    const folder = makeFolder()
    const { code, stdout: id } = await perdure(folder, ['run', 'app.mjs', 'greet', '--no-wait'])
    expect(code).toBe(0)
    expect((await perdureJson(folder, ['runs', 'show', id.trim()])).run.status).toBe('pending')
  })

  it('hands the run back when it is interrupted, and another process ends it', async () => {
    const folder = makeFolder()
    const file = join(folder, 'the file')
    const args = ['run', 'app.mjs', 'waits', '--id', 'w', '--input', JSON.stringify(file)]
    const first = start(folder, args)
    await until(
      () => perdure(folder, ['runs', 'list', '--json']),
      ({ stdout }) => stdout.includes('"running"'),
    )
    first.process.kill('SIGINT')
    await first.printed('Interrupted.')
    // The body does not end by itself within the grace; the second signal ends the process at once.
    first.process.kill('SIGINT')
    expect((await first.finished).code).toBe(130)
    writeFileSync(file, '')
    expect(await perdure(folder, args)).toMatchObject({ code: 0, stdout: '"seen"\n' })
  })

  it('runs workflows of a package, found from the current folder', async () => {
    const folder = makeFolder('a b#%20')
    for (const [name, entry] of [
      ['any-package', './index.js'],
      ['@scope/esm-only', { import: './index.js' }],
    ] as const) {
      addPackage(folder, name, { type: 'module', exports: entry })
      const { code, stdout } = await perdure(folder, ['run', name, 'packaged'])
      expect({ name, code, stdout }).toEqual({ name, code: 0, stdout: '"from a package"\n' })
    }
  })

  it('runs workflows of a CommonJS module', async () => {
    const folder = makeFolder()
    const args = ['run', 'common.cjs', 'common']
    expect(await perdure(folder, args)).toMatchObject({ code: 0, stdout: '"from CommonJS"\n' })
  })

  it('uses the store that the module exports, unless one is named', async () => {
    const folder = makeFolder()
    expect((await perdure(folder, ['run', 'with-store.mjs', 'greet'])).code).toBe(0)
    expect(existsSync(join(folder, 'own.db'))).toBe(true)
    expect(existsSync(join(folder, 'perdure.db'))).toBe(false)
    await perdure(folder, ['run', 'with-store.mjs', 'greet'], { PERDURE_STORE: 'env.db' })
    expect(existsSync(join(folder, 'env.db'))).toBe(true)
    await perdure(folder, ['run', 'with-store.mjs', 'greet', '--store=flag.db'], { PERDURE_STORE: 'no.db' })
    expect(existsSync(join(folder, 'flag.db'))).toBe(true)
    expect(existsSync(join(folder, 'no.db'))).toBe(false)
  })

  it.each([
    ['an unknown workflow', ['app.mjs', 'nope'], 65, 'UNKNOWN_WORKFLOW'],
    ['input that is no JSON', ['app.mjs', 'greet', '--input', '{a'], 64, 'USAGE'],
    ['a module that is not there', ['./nope.mjs', 'greet'], 65, 'MODULE_NOT_FOUND'],
    ['a package that is not there', ['nope', 'greet'], 65, 'MODULE_NOT_FOUND'],
    ['a module without workflows', ['nothing.mjs', 'greet'], 65, 'NO_WORKFLOWS'],
    ['a module that throws', ['broken.mjs', 'greet'], 1, 'MODULE_FAILED'],
    [
      'a store in a folder that is not there',
      ['app.mjs', 'greet', '--store', 'no/no.db'],
      69,
      'STORE_UNAVAILABLE',
    ],
    ['an empty key', ['app.mjs', 'greet', '--key='], 64, 'INVALID_NAME'],
  ])('refuses %s', async (_, args, exitCode, errorCode) => {
    const folder = makeFolder()
    const plain = await perdure(folder, ['run', ...args])
    expect(plain).toMatchObject({ code: exitCode, stdout: '' })
    expect(plain.stderr).toContain(`[${errorCode}]`)
    expect(plain.stderr).not.toContain('dist/cli')
    const json = await perdure(folder, ['run', ...args, '--json'])
    expect(json).toMatchObject({ code: exitCode, stdout: '' })
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: errorCode } })
    expect(existsSync(join(folder, 'perdure.db'))).toBe(false)
  })
})
