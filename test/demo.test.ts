import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { service } from './services/service.ts'

const demoFolder = new URL('../demo/', import.meta.url)

interface Summary {
  readonly ok: boolean
  readonly total: { readonly packages: number; readonly files: number; readonly bytes: number }
  readonly licences: readonly { readonly licence: string; readonly packages: number }[]
  readonly disagreements: readonly {
    readonly path: string
    readonly declared: string
    readonly ofText: string
  }[]
  readonly unreadable: readonly { readonly path: string }[]
  readonly kills: number
  readonly steps: { readonly recorded: number; readonly started: number; readonly repeated: number }
  readonly proofs: readonly { readonly claim: string; readonly problems: readonly string[] }[]
}

const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software, to deal in it,
provided that the above copyright notice and this permission notice shall be included in all copies.`

describe('the demo', () => {
  it('audits every package once while its workers are killed', async () => {
    const root = await temporaryFolder()
    const names = Array.from({ length: 24 }, (_, i) => (i % 3 === 0 ? `@scope/p${i}` : `p${i}`))
    const odd = [
      'a b#%',
      'q"\'`$',
      'ünïcödé',
      'p1/node_modules/nested',
      '@scope/p0/node_modules/@deep/er',
      'line\nbreak',
    ]
    // Random bytes, because they take the longest to compress.
    for (const path of names)
      await addPackage(root, path, { files: { 'data.bin': randomBytes(2 * 1024 * 1024) } })
    for (const path of odd) await addPackage(root, path, {})

    const { code, summary } = await runDemo(['--dir', root, '--kills-per-second', '2', '--seed', '7'])

    expect(summary.proofs.filter(({ problems }) => problems.length > 0)).toEqual([])
    expect(code).toBe(0)
    expect(summary.total).toMatchObject({ packages: 30, files: 30 * 2 + 24 })
    expect(summary.licences).toMatchObject([{ licence: 'MIT', packages: 30 }])
    expect(summary.kills).toBeGreaterThan(0)
    // Per package four steps and one for its part, and the one that finds them.
    expect(summary.steps.recorded).toBe(30 * 5 + 1)
    expect(summary.steps.started).toBe(summary.steps.recorded + summary.steps.repeated)
  }, 180_000)

  it('takes links, broken manifests and other oddities for what they are', async () => {
    const root = await temporaryFolder()
    await addPackage(root, 'liar', { manifest: '{"license":"ISC"}' })
    await addPackage(root, 'broken', { manifest: '{' })
    await addPackage(root, 'linking', {})
    const modules = join(root, 'node_modules')
    await symlink('nowhere', join(modules, 'linking', 'dangling'))
    await symlink('..', join(modules, 'linking', 'loop'))
    await symlink('liar', join(modules, 'linked-package'))
    await mkdir(join(modules, 'no-manifest', 'package.json'), { recursive: true })
    await addPackage(root, '.hidden', {})

    const { code, summary } = await runDemo(['--dir', root, '--no-kills'])

    expect(code).toBe(0)
    expect(summary.total).toMatchObject({ packages: 3, files: 6 })
    expect(summary.disagreements).toEqual([{ path: 'node_modules/liar', declared: 'ISC', ofText: 'MIT' }])
    expect(summary).toMatchObject({ kills: 0, unreadable: [] })
  })

  it.each(['postgres', 'mongo'] as const)('runs on the server that --store names: %s', async (name) => {
    const root = await temporaryFolder()
    await addPackage(root, 'one', {})
    const { code, summary } = await runDemo(['--dir', root, '--no-kills', '--store', await service(name)])
    expect(code).toBe(0)
    expect(summary).toMatchObject({ ok: true, total: { packages: 1 } })
  })

  it('has nothing to say of a folder without packages', async () => {
    const { code, summary } = await runDemo(['--dir', await temporaryFolder()])
    expect(code).toBe(0)
    expect(summary).toMatchObject({ ok: true, total: { packages: 0 }, licences: [] })
  })

  it.each([
    [['--dir', '/nowhere/at all'], 'There is no folder "/nowhere/at all"'],
    [['--kills-per-second', 'many'], '--kills-per-second takes a number'],
    [['--store', 'work.db'], '--store takes a URL'],
    [['--colour'], "Unknown option '--colour'"],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await execute(args)
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})

describe('the proofs', async () => {
  interface Proof {
    readonly claim: string
    readonly problems: readonly string[]
  }
  const { prove }: { prove: (evidence: unknown) => Proof[] } = await importDemo('proofs.mjs')

  const audited = (path: string) => ({ path, files: 1, bytes: 10 })
  const run = (path: string) => ({
    id: `run of ${path}`,
    workflow: 'audit package',
    status: 'completed',
    steps: ['hash files'],
    audit: audited(path),
  })
  const body = (path: string, fence: number) => ({
    at: fence * 100,
    type: 'body',
    run: `run of ${path}`,
    fence,
    step: 'hash files',
  })
  const evidence = {
    counted: { packages: ['a', 'b'], files: 2, bytes: 20 },
    result: [audited('a'), audited('b')],
    ledger: [run('a'), run('b')],
    logs: [[body('a', 1)], [body('a', 2), { ...body('a', 2), type: 'began' }, body('b', 1)]],
    kills: [{ log: 0, at: 150, held: [{ run: 'run of a', fence: 1 }] }],
  }
  const problems = (change: object) => prove({ ...evidence, ...change }).flatMap((proof) => proof.problems)

  it('hold for what is right', () => {
    expect(problems({})).toEqual([])
  })

  it.each([
    ['a missing package', { ledger: [run('a')] }, 'b is missing'],
    ['a package twice', { ledger: [run('a'), run('b'), run('b')] }, 'b is there 2 times'],
    ['a package too many', { result: [audited('a'), audited('b'), audited('c')] }, 'c was not counted'],
    [
      'a failed run',
      { ledger: [run('a'), run('b'), { ...run('b'), status: 'failed', audit: null }] },
      'is failed',
    ],
    ['other sizes', { counted: { packages: ['a', 'b'], files: 2, bytes: 21 } }, '20 bytes were audited, 21'],
    ['a step that nobody ran', { logs: [[body('a', 1)]], kills: [] }, 'was never started'],
    ['a step that is not recorded', { ledger: [run('a'), { ...run('b'), steps: [] }] }, 'is not recorded'],
    ['a repetition without a kill', { kills: [] }, 'was repeated, though worker 1 lived'],
    ['a run that is not taken over', { logs: [[body('a', 1)], [body('b', 1)]] }, 'was not taken over'],
  ])('do not hold for %s', (_, change, message) => {
    expect(problems(change).join('\n')).toContain(message)
  })
})

describe('the classification of licences', async () => {
  interface Licences {
    declaredLicence(manifest: unknown): string | null
    licenceOfText(text: string): string | null
    classifyLicence(declared: string | null, text: string | null): { licence: string; verdict: string }
  }
  const { declaredLicence, licenceOfText, classifyLicence }: Licences = await importDemo('licences.mjs')

  it.each([
    [{ license: 'MIT' }, 'MIT'],
    [{ license: ' Apache 2.0 ' }, 'Apache-2.0'],
    [{ license: { type: 'BSD-3-Clause', url: '…' } }, 'BSD-3-Clause'],
    [{ licenses: [{ type: 'MIT' }, { type: 'Apache-2.0' }] }, '(MIT OR Apache-2.0)'],
    [{ license: 'MIT', licenses: ['MIT'] }, 'MIT'],
    [{ license: '' }, null],
    [{ license: 7, licenses: null }, null],
    [{}, null],
    [null, null],
    ['MIT', null],
  ])('reads what %j declares', (manifest, licence) => {
    expect(declaredLicence(manifest)).toBe(licence)
  })

  const isc =
    'Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee'
  const bsd = 'Redistributions of source code must retain the above copyright notice.'
  it.each([
    ['MIT', mit],
    ['MIT', mit.toUpperCase().replaceAll(' ', '\n * ')],
    ['MIT-0', mit.split('\n')[0] ?? ''],
    ['ISC', `${isc} is hereby granted, provided that the above copyright notice appear in all copies.`],
    ['0BSD', `${isc} is hereby granted.`],
    ['BSD-2-Clause', bsd],
    ['BSD-3-Clause', `${bsd} Neither the name of X nor the names of its contributors may be used`],
    ['Apache-2.0', '                Apache License\n        Version 2.0, January 2004'],
    ['MPL-2.0', 'Mozilla Public License Version 2.0\n====='],
    ['MPL-2.0', 'Mozilla Public License, version 2.0'],
    ['LGPL-3.0', 'GNU LESSER GENERAL PUBLIC LICENSE\n  Version 3, 29 June 2007'],
    ['GPL-3.0', 'GNU GENERAL PUBLIC LICENSE\n  Version 3, 29 June 2007'],
    ['MIT', `${mit}\n\nBundled:\n\n${bsd}`],
    ['BSD-2-Clause', `${bsd}\n\nBundled:\n\n${mit}`],
    [null, 'All rights reserved.'],
    [null, ''],
  ])('recognises %s', (licence, text) => {
    expect(licenceOfText(text)).toBe(licence)
  })

  it.each([
    ['MIT', mit, 'MIT', 'agree'],
    ['(MIT OR Apache-2.0)', mit, '(MIT OR Apache-2.0)', 'agree'],
    ['BSD', bsd, 'BSD', 'agree'],
    ['GPL-3.0-or-later', 'GNU General Public License, version 3', 'GPL-3.0-or-later', 'agree'],
    ['ISC', mit, 'ISC', 'differ'],
    ['MIT', null, 'MIT', 'declared only'],
    [null, mit, 'MIT', 'text only'],
    ['MIT', 'Ask me.', 'MIT', 'unrecognised text'],
    [null, null, 'unknown', 'unknown'],
    [null, 'Ask me.', 'unknown', 'unknown'],
  ])('holds %j against the text', (declared, text, licence, verdict) => {
    expect(classifyLicence(declared, text)).toMatchObject({ licence, verdict })
  })
})

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-demo-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** A package with a manifest, an MIT text and what else is given. */
async function addPackage(
  root: string,
  path: string,
  {
    manifest = '{"name":"x","version":"1.0.0","license":"MIT"}',
    files = {},
  }: { manifest?: string; files?: Readonly<Record<string, Uint8Array>> },
): Promise<void> {
  const all = { 'package.json': manifest, 'LICENSE.md': mit, ...files }
  for (const [name, content] of Object.entries(all)) {
    const file = join(root, 'node_modules', path, name)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content)
  }
}

async function runDemo(args: readonly string[]): Promise<{ code: unknown; summary: Summary }> {
  const { code, stdout, stderr } = await execute([...args, '--json'])
  if (!stdout.startsWith('{')) throw new Error(`The demo printed no summary.\n${stdout}${stderr}`)
  return { code, summary: JSON.parse(stdout) }
}

async function execute(args: readonly string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const demo = spawn(process.execPath, [fileURLToPath(new URL('run.mjs', demoFolder)), ...args], {
    // The build has just been made, for all tests.
    env: { ...process.env, PERDURE_SKIP_BUILD: '1' },
  })
  onTestFinished(() => {
    demo.kill('SIGTERM')
  })
  let stdout = ''
  let stderr = ''
  demo.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  demo.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const [code] = await once(demo, 'close')
  return { code, stdout, stderr }
}

/** By its address, because the demo is plain JavaScript and its types are in comments. */
async function importDemo<Module>(name: string): Promise<Module> {
  return await import(new URL(name, demoFolder).href)
}
