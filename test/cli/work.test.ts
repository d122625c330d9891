import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Json, makeFolder, perdure, perdureJson, start, until } from './tools.ts'

const WORKING = 'perdure working; '

async function statusOf(folder: string, id: string): Promise<string> {
  return (await perdureJson(folder, ['runs', 'show', id])).run.status
}

describe('perdure work', () => {
  it('executes runs until it is told to stop, then closes in order', async () => {
    const folder = makeFolder()
    const worker = start(folder, ['work', 'app.mjs', '--concurrency', '2'])
    await worker.printed(WORKING)
    await perdure(folder, ['run', 'app.mjs', 'greet', '--id', 'g', '--no-wait'])
    expect(
      await until(
        () => statusOf(folder, 'g'),
        (status) => status !== 'pending' && status !== 'running',
      ),
    ).toBe('completed')
    worker.process.kill('SIGTERM')
    const { code, stdout, stderr } = await worker.finished
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^perdure working; store: sqlite \(.*perdure\.db\); workflows: greet, .*, sum$/),
      expect.stringMatching(/^perdure closing/),
      'perdure closed',
    ])
  })

  it('tells each event with --verbose, in lines without colours', async () => {
    const folder = makeFolder()
    const worker = start(folder, ['work', 'app.mjs', '--verbose'])
    await worker.printed(WORKING)
    await perdure(folder, ['run', 'app.mjs', 'greet', '--id', 'g', '--no-wait'])
    await worker.printed('completed')
    worker.process.kill('SIGTERM')
    const { stdout } = await worker.finished
    const events = stdout.split('\n').filter((line) => line.includes('  greet  g  '))
    expect(
      events.map((line) => line.replace(/^[\d:.]+ {2}greet {2}g {2}/, '').replace(/ in .*/, '')),
    ).toEqual(['started', 'compose: runs', 'compose: succeeded', 'completed'])
    expect(stdout).not.toContain('\x1b')
  })

  it('tells each event as a line of JSON with --json', async () => {
    const folder = makeFolder()
    const worker = start(folder, ['work', 'app.mjs', '--json'])
    await worker.printed('"working"')
    await perdure(folder, ['run', 'app.mjs', 'greet', '--id', 'g', '--no-wait'])
    await worker.printed('execution-left')
    worker.process.kill('SIGTERM')
    const { stdout } = await worker.finished
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Json & { readonly event: string })
    expect(events.map(({ event }) => event)).toEqual([
      'working',
      'execution-started',
      'body-started',
      'body-ended',
      'handed-out',
      'execution-left',
      'closing',
      'closed',
    ])
  })

  it('works only on the queues that it is given', async () => {
    const folder = makeFolder()
    const worker = start(folder, ['work', 'queues.mjs', '--queue', 'b', '--queue', 'c'])
    await worker.printed(WORKING)
    for (const name of ['a', 'b', 'c']) {
      await perdure(folder, ['run', 'queues.mjs', name, '--id', name, '--no-wait'])
    }
    await until(
      () => statusOf(folder, 'c'),
      (status) => status === 'completed',
    )
    await until(
      () => statusOf(folder, 'b'),
      (status) => status === 'completed',
    )
    expect(await statusOf(folder, 'a')).toBe('pending')
  })

  it('goes on where a killed worker was', async () => {
    const folder = makeFolder()
    const file = join(folder, 'the file')
    const killed = start(folder, ['work', 'app.mjs'])
    await killed.printed(WORKING)
    await perdure(folder, [
      'run',
      'app.mjs',
      'waits',
      '--id',
      'w',
      '--no-wait',
      '--input',
      JSON.stringify(file),
    ])
    await until(
      () => statusOf(folder, 'w'),
      (status) => status === 'running',
    )
    killed.process.kill('SIGKILL')
    await killed.finished
    writeFileSync(file, '')
    await start(folder, ['work', 'app.mjs']).printed(WORKING)
    await until(
      () => statusOf(folder, 'w'),
      (status) => status === 'completed',
    )
    const { run } = await perdureJson(folder, ['runs', 'show', 'w'])
    expect(run).toMatchObject({ status: 'completed', output: 'seen', attempt: 2 })
  })

  it.each([
    ['a concurrency that is no number', ['app.mjs', '--concurrency', 'many'], 64],
    ['a concurrency of 0', ['app.mjs', '--concurrency', '0'], 64],
    ['a module without workflows', ['nothing.mjs'], 65],
    ['no module', [], 64],
  ])('refuses %s', async (_, args, code) => {
    expect(await perdure(makeFolder(), ['work', ...args])).toMatchObject({ code, stdout: '' })
  })
})
