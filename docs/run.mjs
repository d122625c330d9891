// `npm run guide NAME`: runs the snippets of a guide, each in a process of its own, and checks that they print what the
// guide says. Without a name it lists the guides. Snippets that name a server run where one is given:
// `npm run guide coming-from-a-mongo-runner -- --mongodb URL` (also --redis, --postgres).

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bootstrap } from '../scripts/bootstrap.mjs'

/** Where the guides say that a server is. */
const SERVERS = {
  mongodb: 'mongodb://localhost/shop',
  redis: 'redis://localhost',
  postgres: 'postgres://localhost/shop',
}
const folder = import.meta.dirname
const guides = readdirSync(folder).flatMap((file) => (file.endsWith('.md') ? [file.slice(0, -3)] : []))
const url = /** @type {const} */ ({ type: 'string' })
const { values, positionals } = parseArgs({
  options: { mongodb: url, redis: url, postgres: url },
  allowPositionals: true,
})
const [name] = positionals

if (name === undefined || !guides.includes(name)) {
  if (name !== undefined) console.error(`There is no guide "${name}".`)
  console.log(`npm run guide NAME, where NAME is one of\n${guides.map((guide) => `  ${guide}`).join('\n')}`)
  process.exit(name === undefined ? 0 : 1)
}
bootstrap()

const typescript = await import('typescript')
// Inside the package, so that `import 'perdure'` means this package.
const scratch = mkdtempSync(join(folder, '.run-'))
try {
  for (const snippet of snippetsOf(readFileSync(join(folder, `${name}.md`), 'utf8'))) run(snippet)
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

/**
 * @typedef {{ language: string, code: string, line: number }} Snippet
 * @param {string} markdown
 * @returns {Snippet[]} the blocks that are marked as `js` or `ts`, and no more
 */
function snippetsOf(markdown) {
  return [...markdown.matchAll(/^```([^\n]*)\n([\s\S]*?)^```$/gm)].flatMap(
    ({ index, 1: language, 2: code }) => {
      const line = markdown.slice(0, index).split('\n').length
      return language === 'js' || language === 'ts' ? [{ language, code: code ?? '', line }] : []
    },
  )
}

/** @param {Snippet} snippet */
function run({ language, code, line }) {
  const place = `${name}.md, line ${line}`
  let placed = code
  for (const [server, address] of Object.entries(SERVERS)) {
    if (!placed.includes(address)) continue
    const given = values[/** @type {keyof typeof SERVERS} */ (server)]
    if (given === undefined) return console.log(`\n── ${place}: LEFT OUT, needs --${server} URL`)
    placed = placed.replaceAll(address, given)
  }
  console.log(`\n── ${place}`)
  const file = join(scratch, `line-${line}.mjs`)
  writeFileSync(file, language === 'js' ? placed : javascriptOf(placed))
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
    cwd: scratch,
    encoding: 'utf8',
    timeout: 60_000,
  })
  process.stdout.write(stdout)
  process.stderr.write(stderr)
  const missing = promisedOutput(code).filter((text) => !stdout.includes(text))
  if (status === 0 && missing.length === 0) return
  console.error(
    status === 0 ? `${place} did not print: ${missing.join(' | ')}` : `${place} failed (${status}).`,
  )
  process.exitCode = 1
}

/** @param {string} code */
function javascriptOf(code) {
  const { ModuleKind, ScriptTarget, transpileModule } = typescript.default
  const compilerOptions = { module: ModuleKind.ESNext, target: ScriptTarget.ES2023 }
  return transpileModule(code, { compilerOptions }).outputText
}

/**
 * `console.log(x) // true false` promises that line.
 *
 * @param {string} code
 */
function promisedOutput(code) {
  return [...code.matchAll(/^\s*console\.log\(.*\) \/\/ (.*)$/gm)].map(([, text]) => text ?? '')
}
