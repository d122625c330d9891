import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { service } from './services/service.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')

/** A snippet of the README, and what the comments behind its `console.log` lines say that it prints. */
interface Snippet {
  readonly language: string
  readonly code: string
  readonly line: number
}

const readme = await readFile(join(root, 'README.md'), 'utf8')
const snippets = snippetsOf(readme).filter(({ language }) => language === 'js' || language === 'ts')

/** Where the README says that a server is, and one that is there. */
const servers = {
  'postgres://localhost/shop': 'postgres',
  'mongodb://localhost/shop': 'mongo',
  'redis://localhost': 'redis',
} as const

async function onServers(code: string): Promise<string> {
  let changed = code
  for (const [url, name] of Object.entries(servers)) {
    if (changed.includes(url)) changed = changed.replaceAll(url, await service(name))
  }
  return changed
}

describe('the README', () => {
  let folder: string

  beforeAll(async () => {
    // Inside the package, so that `import 'perdure'` means this package.
    folder = await mkdtemp(join(root, 'test', '.readme-'))
  })

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true })
  })

  it('has snippets', () => {
    expect(snippets.length).toBeGreaterThanOrEqual(5)
  })

  it.each(snippets)(
    'runs the $language snippet of line $line, which prints what it says',
    async (snippet) => {
      const file = join(folder, `line-${snippet.line}.mjs`)
      await writeFile(file, await onServers(javascriptOf(snippet)))
      const { stdout } = await run(process.execPath, [file], { cwd: folder, timeout: 30_000 })
      for (const text of promisedOutput(snippet.code)) expect(stdout).toContain(text)
    },
  )

  it('prints in the quick start what the text says', async () => {
    const [promised] = /prints `([^`]+)`/.exec(readme)?.slice(1) ?? []
    const quickStart = snippets.find(({ code }) => code.includes('quick-start.mjs'))
    expect(promised).toBeDefined()
    const file = join(folder, 'quick-start.mjs')
    await writeFile(file, quickStart?.code ?? '')
    const { stdout } = await run(process.execPath, [file], { cwd: folder, timeout: 30_000 })
    expect(stdout.trim()).toBe(promised)
  })

  it('names only scripts that exist', async () => {
    const { scripts }: { scripts: Record<string, string> } = JSON.parse(
      await readFile(join(root, 'package.json'), 'utf8'),
    )
    const named = [...readme.matchAll(/npm run ([a-z:]+)/g)].map(([, name]) => name)
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named))
  })

  it('has typed snippets that type-check', () => {
    const typed = snippets.filter(({ language }) => language === 'ts')
    expect(typed.length).toBeGreaterThan(0)
    for (const { code } of typed) expect(typeErrors(code)).toEqual([])
  })
})

function snippetsOf(markdown: string): Snippet[] {
  return [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    language: match[1] ?? '',
    code: match[2] ?? '',
    line: markdown.slice(0, match.index).split('\n').length,
  }))
}

function javascriptOf({ language, code }: Snippet): string {
  if (language === 'js') return code
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 }
  return ts.transpileModule(code, { compilerOptions }).outputText
}

/** `console.log(x) // true false` promises that line. */
function promisedOutput(code: string): string[] {
  return [...code.matchAll(/^console\.log\(.*\) \/\/ (?:'([^']*)'.*|(.*))$/gm)].map(
    ([, quoted, plain]) => quoted ?? plain ?? '',
  )
}

function typeErrors(code: string): string[] {
  const file = join(root, 'test', 'readme-snippet.ts')
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (name) => name === file || fileExists(name)
  host.getSourceFile = (name, ...rest) =>
    name === file ? ts.createSourceFile(name, code, ts.ScriptTarget.ES2023) : getSourceFile(name, ...rest)
  const program = ts.createProgram([file], options, host)
  const diagnostics = ts.getPreEmitDiagnostics(program)
  return diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}
