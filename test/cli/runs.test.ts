import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeFolder, perdure, perdureJson, start, until } from './tools.ts'

async function startOnly(folder: string, workflow: string, id: string, ...more: string[]): Promise<void> {
  await perdure(folder, ['run', 'app.mjs', workflow, '--id', id, '--no-wait', ...more])
}

describe('perdure runs list', () => {
  it('lists runs in an aligned table, newest first, without colours when piped', async () => {
    const folder = makeFolder()
    await perdure(folder, ['run', 'app.mjs', 'greet', '--id', 'first', '--key', 'a\x1b[2Jb'])
    await startOnly(folder, 'approval', 'second')
    const { code, stdout, stderr } = await perdure(folder, ['runs', 'list'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).not.toContain('\x1b')
    const [head, second, first] = stdout.split('\n')
    expect(head).toMatch(/^ID {6}WORKFLOW {2}STATUS {5}KEY/)
    expect(second).toMatch(/^second {2}approval {2}pending {5}/)
    expect(first).toMatch(/^first {3}greet {5}completed {2}a\\x1b\[2Jb/)
  })

  it('filters, and goes on where the page before ended', async () => {
    const folder = makeFolder()
    await startOnly(folder, 'greet', '1')
    await startOnly(folder, 'greet', '2', '--key', '0x10')
    await startOnly(folder, 'approval', '3')
    const ids = async (...args: string[]): Promise<string[]> => {
      return (await perdureJson(folder, ['runs', 'list', ...args])).runs.map(({ id }) => id)
    }
    expect(await ids('--workflow', 'greet')).toEqual(['2', '1'])
    expect(await ids('--key', '0x10')).toEqual(['2'])
    expect(await ids('--status', 'failed,pending')).toEqual(['3', '2', '1'])
    expect(await ids('--status', 'failed', '--status', 'running')).toEqual([])
    expect(await ids('--queue', 'other')).toEqual([])
    expect(await ids('--tag', 'other')).toEqual([])
    const { cursor, runs } = await perdureJson(folder, ['runs', 'list', '--limit', '2'])
    expect(runs.map(({ id }) => id)).toEqual(['3', '2'])
    expect(await ids('--limit', '2', '--cursor', cursor)).toEqual(['1'])
  })

  it('never creates a store, nor tables in a database of others', async () => {
    const folder = makeFolder()
    const before = readdirSync(folder)
    const missing = await perdure(folder, ['runs', 'list', '--store', 'no.db'])
    expect(missing).toMatchObject({ code: 65, stdout: '' })
    expect(missing.stderr).toContain(`[STORE_NOT_FOUND]: There is no store ${join(folder, 'no.db')}`)
    expect(readdirSync(folder)).toEqual(before)

    writeFileSync(join(folder, 'empty.db'), '')
    for (const args of [['list'], ['pause', 'x']]) {
      const foreign = await perdure(folder, ['runs', ...args, '--store', 'empty.db', '--json'])
      expect(foreign.code).toBe(69)
      expect(JSON.parse(foreign.stderr)).toMatchObject({ error: { code: 'STORE_FOREIGN' } })
    }
    const damaged = await perdure(folder, ['runs', 'list', '--store', 'app.mjs'])
    expect(damaged.stderr).toContain('[STORE_CORRUPT]')
  })

  it.each([
    ['an unknown status', ['--status', 'done']],
    ['a limit that is none', ['--limit', '1e2']],
    ['a limit that is too high', ['--limit', '1001']],
    ['an unknown option', ['--nope']],
    ['an argument too many', ['extra']],
    ['an option without its value', ['--workflow']],
    ['an option given twice', ['--workflow', 'a', '--workflow', 'b']],
    ['a cursor of its own making', ['--cursor', 'made up']],
  ])('refuses %s', async (_, args) => {
    const folder = makeFolder()
    await startOnly(folder, 'greet', '1')
    const { code, stdout, stderr } = await perdure(folder, ['runs', 'list', ...args])
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' })
    expect(stderr).toMatch(/^error \[(USAGE|INVALID_ARGUMENT)\]: /)
  })
})

describe('perdure runs show', () => {
  it('shows the steps of a run with their failed attempts and the causes of errors', async () => {
    const folder = makeFolder()
    await perdure(folder, ['run', 'app.mjs', 'fails', '--id', 'f'])
    const { code, stdout } = await perdure(folder, ['runs', 'show', 'f'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Run f {2}failed\nworkflow {3}fails\n/)
    expect(stdout).toMatch(/\n✗ {2}try {3}step +\+\d+ms +\d+ms +█/)
    expect(stdout).toMatch(/attempt 1 failed \(.*\): Error: No luck\\x1b\[31m at attempt 1\n/)
    expect(stdout).toMatch(/Error: No luck.*2\n +caused by TypeError: The cable is cut\n/)
    expect(stdout).not.toContain('\x1b')
  })

  it('shows children, and what a run waits for and until when', async () => {
    const folder = makeFolder()
    await startOnly(folder, 'approval', 'a')
    start(folder, ['work', 'app.mjs'])
    const { stdout } = await until(
      () => perdure(folder, ['runs', 'show', 'a']),
      (show) => show.stdout.includes('waits for event'),
    )
    expect(stdout).toMatch(/^Run a {2}waiting\n/)
    expect(stdout).toMatch(/\n✓ {2}ask .* child greet .*\n +run [\w-]+ completed\n +→ "Hello, Ada!"\n/)
    expect(stdout).toMatch(
      /\n· {2}approved .*░\n +waits for event "approved" until [\d-]+ [\d:]+ \(in 6d 23h\)/,
    )
  })

  it('reports a run that is not there', async () => {
    const folder = makeFolder()
    await startOnly(folder, 'greet', '1')
    const { code, stderr } = await perdure(folder, ['runs', 'show', 'nope', '--json'])
    expect(code).toBe(65)
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'RUN_NOT_FOUND' } })
  })
})

describe('perdure runs cancel, pause, resume, revive', () => {
  it('cancel ends a run that has not begun, and keeps the reason', async () => {
    const folder = makeFolder()
    await startOnly(folder, 'greet', '1')
    const { code, stdout } = await perdure(folder, ['runs', 'cancel', '1', '--reason', '12'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Run 1: cancelled\n' })
    const { run } = await perdureJson(folder, ['runs', 'show', '1'])
    expect(run).toMatchObject({ cancelReason: '12', error: { code: 'RUN_CANCELLED', reason: '12' } })
  })

  it('pause sets a run aside, resume lets it go on', async () => {
    const folder = makeFolder()
    await startOnly(folder, 'greet', '1')
    expect((await perdure(folder, ['runs', 'pause', '1'])).stdout).toBe('Run 1: paused\n')
    expect(await perdureJson(folder, ['runs', 'resume', '1'])).toMatchObject({ id: '1', status: 'pending' })
    const again = await perdure(folder, ['runs', 'resume', '1'])
    expect(again.code).toBe(66)
    expect(again.stderr).toContain('[RUN_STATE]')
  })

  it('revive starts a failed run over', async () => {
    const folder = makeFolder()
    await perdure(folder, ['run', 'app.mjs', 'fails', '--id', 'f'])
    expect((await perdure(folder, ['runs', 'revive', 'f'])).stdout).toBe('Run f: pending\n')
    expect((await perdureJson(folder, ['runs', 'show', 'f'])).run).toMatchObject({ error: null, attempt: 1 })
  })

  it.each(['cancel', 'pause', 'resume', 'revive'])(
    '%s reports a run, or a store, that is not there',
    async (verb) => {
      const folder = makeFolder()
      const missing = await perdure(folder, ['runs', verb, 'nope'])
      expect(missing).toMatchObject({ code: 65, stdout: '' })
      expect(existsSync(join(folder, 'perdure.db'))).toBe(false)
      await startOnly(folder, 'greet', '1')
      const { code, stderr } = await perdure(folder, ['runs', verb, 'nope'])
      expect(code).toBe(65)
      expect(stderr).toContain('[RUN_NOT_FOUND]')
    },
  )
})

describe('perdure', () => {
  it.each([
    ['no command', []],
    ['an unknown command', ['nope']],
    ['a group without a command', ['runs']],
    ['an unknown command of a group', ['runs', 'nope']],
  ])('refuses %s and names the commands', async (_, args) => {
    const { code, stdout, stderr } = await perdure(makeFolder(), args)
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' })
    expect(stderr).toMatch(/\[USAGE\].*runs list/)
  })

  it('prints help, of all and of each command, and its version', async () => {
    const folder = makeFolder()
    expect((await perdure(folder, ['--help'])).stdout).toMatch(
      /Commands:\n[\s\S]*runs show <id>[\s\S]*Exit codes:\n[\s\S]* 65 /,
    )
    expect((await perdure(folder, ['runs', '--help'])).stdout).toContain('runs revive <id>')
    expect((await perdure(folder, ['runs', 'list', '--help'])).stdout).toContain('--cursor <cursor>')
    expect(await perdure(folder, ['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^perdure\/\d/),
    })
  })

  it('takes the store from before the command, and from the environment', async () => {
    const folder = makeFolder()
    await startOnly(folder, 'greet', '1', '--store', 'runs')
    expect((await perdureJson(folder, ['--store', 'runs', 'runs', 'list'])).runs).toHaveLength(1)
    const { stdout } = await perdure(folder, ['runs', 'list'], { PERDURE_STORE: 'runs' })
    expect(stdout).toContain('greet')
  })
})
