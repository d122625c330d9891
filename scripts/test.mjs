// The whole check of this project, from a fresh clone: `npm test`. Stops at the first stage that fails, with
// its exit code. The tests come last, so that the last line printed is their count.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { dependenciesMatchLockfile } from './bootstrap.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const env = { ...process.env, PATH: join(root, 'node_modules', '.bin') + delimiter + process.env.PATH }

if (!dependenciesMatchLockfile()) {
  stage('dependencies', 'npm ci || npm install')
}
stage('format and lint', 'biome check .')
stage('types', 'tsc --noEmit')
stage('unused files, exports and dependencies', 'knip')
stage('build', 'npm run --silent build')
stage('package exports', 'npm run --silent check:exports')
testStage()

function stage(name, command) {
  headline(name)
  const code = run(command)
  if (code !== 0) {
    console.error(`\nStopped: "${name}" failed (${command}, exit code ${code}).`)
    process.exit(code)
  }
}

function testStage() {
  headline('tests')
  const directory = mkdtempSync(join(tmpdir(), 'perdure-test-'))
  const report = join(directory, 'report.json')
  const reporters = `--reporter=default --reporter=json --outputFile.json="${report}"`
  // The build stage has just run; building again would only cost time.
  let code = run(`vitest run --coverage ${reporters}`, { PERDURE_SKIP_BUILD: '1' })
  const { numPassedTests, numFailedTests, numPendingTests } = readReport(report)
  rmSync(directory, { recursive: true, force: true })

  if (code !== 0 && numFailedTests === 0) {
    console.error('\nNo test failed, but vitest did: see the errors, or the coverage thresholds, above.')
  }
  if (numPendingTests > 0) console.log(`\n${numPendingTests} skipped`)
  // A skip is a convenience of one's own machine; where CI is set, what cannot run is a failure.
  if (numPendingTests > 0 && process.env.CI && code === 0) {
    console.error('CI is set: a skipped test counts as a failure of this command.')
    code = 1
  }
  console.log(`\n${numPassedTests} passed, ${numFailedTests} failed`)
  process.exit(code)
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0 }
  }
}

function run(command, extraEnv = {}) {
  const result = spawnSync(command, {
    cwd: root,
    env: { ...env, ...extraEnv },
    shell: true,
    stdio: 'inherit',
  })
  return result.status ?? 1
}

function headline(name) {
  console.log(`\n── ${name} ${'─'.repeat(Math.max(0, 72 - name.length))}`)
}
