import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import {
  anyTypes,
  filesLongerThan,
  importCycles,
  impureCore,
  layerViolations,
  type Manifest,
  missingExports,
  packageViolations,
  scatteredPackages,
  undeclaredPackages,
} from './architecture/rules.ts'
import { readSources } from './architecture/sources.ts'

const MAX_LINES = 400
const LONG_LINES = 300

describe('the architecture', () => {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const sources = readSources(root)
  const manifest: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

  it('has sources to check', () => {
    expect(sources.length).toBeGreaterThan(0)
  })

  it('lets each layer import only what is below it, and testing by nobody', () => {
    expect(layerViolations(sources)).toEqual([])
  })

  it('keeps packages out of core and ports, but for a pure library in one file', () => {
    expect(packageViolations(sources)).toEqual([])
    expect(scatteredPackages(sources)).toEqual([])
  })

  it('has no import cycles', () => {
    expect(importCycles(sources)).toEqual([])
  })

  it('has no any', () => {
    expect(anyTypes(sources)).toEqual([])
  })

  it('keeps clocks, randomness, timers, the process and the console out of core', () => {
    expect(impureCore(sources)).toEqual([])
  })

  it('declares every package that it imports', () => {
    expect(undeclaredPackages(sources, manifest)).toEqual([])
  })

  it('has a built file for every entry of exports and bin', ({ skip }) => {
    const isUnbuilt = !existsSync(join(root, 'dist'))
    if (isUnbuilt && !process.env['CI']) {
      console.warn(
        'NOT CHECKED: the exports of package.json, because dist is not built. Run "npm run build".',
      )
      skip('dist is not built')
    }
    expect(missingExports(manifest, (path) => existsSync(join(root, path)))).toEqual([])
  })

  it(`has no source file over ${MAX_LINES} lines`, () => {
    const long = filesLongerThan(LONG_LINES, sources)
    if (long.length > 0) console.warn(`Consider splitting:\n  ${long.join('\n  ')}`)
    expect(filesLongerThan(MAX_LINES, sources)).toEqual([])
  })
})

describe('the rules of the architecture', () => {
  const file = (path: string, text: string) => [{ path, text }]

  it.each([
    ['core', 'engine'],
    ['core', 'ports'],
    ['ports', 'engine'],
    ['stores', 'engine'],
    ['notifiers', 'engine'],
    ['queues', 'stores'],
    ['runner', 'engine'],
    ['pikku', 'stores'],
    ['pikku', 'queues'],
    ['engine', 'stores'],
    ['engine', 'notifiers'],
    ['engine', 'cli'],
    ['engine', 'testing'],
    ['cli', 'testing'],
  ])('report that %s imports %s', (from, to) => {
    const [violation] = layerViolations(file(`src/${from}/a.ts`, `\nimport { b } from '../${to}/b.ts'`))
    expect(violation).toBe(`src/${from}/a.ts:2 (../${to}/b.ts) "${from}" must not import "${to}"`)
  })

  it.each([
    ['stores', 'ports'],
    ['stores', 'stores'],
    ['engine', 'core'],
    ['testing', 'engine'],
    ['testing', 'testing'],
    ['cli', 'stores'],
  ])('accept that %s imports %s', (from, to) => {
    expect(layerViolations(file(`src/${from}/a.ts`, `import { b } from '../${to}/b.ts'`))).toEqual([])
  })

  it.each([
    "import type { B } from '../engine/b.ts'",
    "export * from '../engine/b.ts'",
    "export { b } from '../engine/b.ts'",
    "const b = await import('../engine/b.ts')",
    "type B = import('../engine/b.ts').B",
    "import '../engine/b.ts'",
  ])('see an import in every form: %s', (text) => {
    expect(layerViolations(file('src/core/a.ts', text))).toHaveLength(1)
  })

  it('report an import from outside src, the manifest excepted', () => {
    expect(layerViolations(file('src/cli/a.ts', "import '../../test/b.ts'"))).toHaveLength(1)
    expect(layerViolations(file('src/cli/a.ts', "import p from '../../package.json'"))).toEqual([])
  })

  it.each([
    ['core', 'node:fs'],
    ['core', 'picocolors'],
    ['ports', 'devalue'],
  ])('report that %s imports the package %s', (layer, name) => {
    expect(packageViolations(file(`src/${layer}/a.ts`, `import b from '${name}'`))).toHaveLength(1)
  })

  it('report a pure library that two files of core import', () => {
    const one = { path: 'src/core/a.ts', text: "import { parse } from 'devalue'" }
    const two = { path: 'src/core/b.ts', text: "import { stringify } from 'devalue'" }
    expect(packageViolations([one, two])).toEqual([])
    expect(scatteredPackages([one])).toEqual([])
    expect(scatteredPackages([one, two])).toHaveLength(1)
  })

  it('report a cycle, also through type imports', () => {
    const cycle = importCycles([
      { path: 'src/core/a.ts', text: "import { b } from './b.ts'" },
      { path: 'src/core/b.ts', text: "import type { C } from './c.ts'" },
      { path: 'src/core/c.ts', text: "import { b } from './b.ts'\nimport './d.ts'" },
      { path: 'src/core/d.ts', text: '' },
    ])
    expect(cycle).toEqual(['import cycle: src/core/b.ts → src/core/c.ts → src/core/b.ts'])
  })

  it('report any where it is a type, and not where it is a word', () => {
    expect(anyTypes(file('src/cli/a.ts', 'const a = 1 as any'))).toHaveLength(1)
    expect(anyTypes(file('src/cli/a.ts', 'type A = Array<any>'))).toHaveLength(1)
    expect(anyTypes(file('src/cli/a.ts', "// any\nconst any = 'any'"))).toEqual([])
  })

  it.each([
    'const a = new Date()',
    'const a = Date.now()',
    'const a = () => Date',
    'a = Date',
    'const a = Math.random()',
    'const { random } = Math',
    "const a = process.env['A']",
    'setTimeout(a, 1)',
    'setInterval(a, 1)',
    'setImmediate(a)',
    "console.log('a')",
    'const a = { now: performance }',
    'const a = { process }',
    'const { setTimeout: later } = globalThis',
    'class A extends Date {}',
  ])('report an impure core: %s', (text) => {
    expect(impureCore(file('src/core/a.ts', text))).toHaveLength(1)
    expect(impureCore(file('src/engine/a.ts', text))).toEqual([])
  })

  it.each([
    'const a = (b: unknown): b is Date => b instanceof Date',
    'interface A { readonly process: Date; console(): void }',
    'const a = Math.max(1, 2)',
    'const a = (process: () => void) => process()',
    'const a = { process: 1, console() {} }.process',
  ])('accept a pure core: %s', (text) => {
    expect(impureCore(file('src/core/a.ts', text))).toEqual([])
  })

  it('report a package that is not declared, and know the scope and the built-in ones', () => {
    const imports = ['node:fs', 'fs', 'a/sub', '@b/c/sub', 'd', 'e', 'unknown', '@b/unknown']
    const text = imports.map((name) => `import '${name}'`).join('\n')
    const manifest = {
      dependencies: { a: '1', '@b/c': '1' },
      optionalDependencies: { d: '1' },
      peerDependencies: { e: '1' },
    }
    expect(undeclaredPackages(file('src/cli/a.ts', text), manifest)).toEqual([
      'src/cli/a.ts:7 (unknown) "unknown" is not declared in package.json',
      'src/cli/a.ts:8 (@b/unknown) "@b/unknown" is not declared in package.json',
    ])
  })

  it('report an entry of exports or bin that does not exist', () => {
    const manifest = {
      exports: {
        '.': { types: './dist/a.d.ts', default: './dist/a.js' },
        './package.json': './package.json',
      },
      bin: { a: 'dist/cli.js' },
    }
    expect(missingExports(manifest, () => true)).toEqual([])
    expect(missingExports(manifest, (path) => path.endsWith('.json'))).toHaveLength(3)
  })

  it('report a file that is too long, by its lines and not by its last line break', () => {
    const lines = (count: number) => file('src/cli/a.ts', 'a\n'.repeat(count))
    expect(filesLongerThan(3, lines(3))).toEqual([])
    expect(filesLongerThan(3, lines(4))).toEqual(['src/cli/a.ts has 4 lines, more than 3'])
  })
})
