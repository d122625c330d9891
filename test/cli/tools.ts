import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const main = join(root, 'dist/cli/main.js')
const fixtures = fileURLToPath(new URL('./fixtures', import.meta.url))

/** How long anything may take before a test gives up on it. */
const BOUND_MS = 30_000

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A new folder with the fixtures in it, in which `perdure` is the package of this repository. */
export function makeFolder(name = 'app'): string {
  const parent = mkdtempSync(join(tmpdir(), 'perdure-cli-'))
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
  const folder = join(parent, name)
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  symlinkSync(root, join(folder, 'node_modules/perdure'), 'junction')
  cpSync(fixtures, folder, { recursive: true })
  return folder
}

/** Runs a command line to its end. */
export async function perdure(cwd: string, args: readonly string[], env = {}): Promise<Finished> {
  return await start(cwd, args, env).finished
}

/** Runs a command line and parses what it printed. */
export async function perdureJson(cwd: string, args: readonly string[]): Promise<Json> {
  const { stdout, stderr, code } = await perdure(cwd, [...args, '--json'])
  if (stdout === '')
    throw new Error(`perdure ${args.join(' ')} printed nothing (exit code ${code}): ${stderr}`)
  return JSON.parse(stdout) as Json
}

/** What a test reads out of JSON: it fails by itself where something else is there. */
export type Json = Readonly<Record<string, never>> & {
  readonly id: string
  readonly status: string
  readonly cursor: string
  readonly run: Json
  readonly runs: readonly Json[]
  readonly entries: readonly Json[]
  readonly error: { readonly code: string; readonly message: string }
}

export interface Started {
  readonly process: ChildProcess
  readonly finished: Promise<Finished>
  /** Resolves when this text has been printed. */
  printed(text: string): Promise<void>
}

/** Starts a command line. It is killed at the end of the test, if it still runs. */
export function start(cwd: string, args: readonly string[], env = {}): Started {
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { ...withoutSettings(process.env), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  const listeners = new Set<() => void>()
  child.stderr.on('data', (data) => {
    stderr += String(data)
    for (const listener of listeners) listener()
  })
  child.stdout.on('data', (data) => {
    stdout += String(data)
    for (const listener of listeners) listener()
  })
  const finished = new Promise<Finished>((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
  const printed = async (text: string): Promise<void> => {
    const seen = new Promise<void>((resolve) => {
      const look = (): void => {
        if (stdout.includes(text) || stderr.includes(text)) resolve()
      }
      listeners.add(look)
      look()
    })
    const ended = finished.then(({ code }) => {
      throw new Error(`The process ended with ${code} and never printed "${text}": ${stdout}${stderr}`)
    })
    await Promise.race([seen, ended])
  }
  return { process: child, finished, printed }
}

/** Asks again and again until the answer fits, for as long as the bound allows. Each question takes its time. */
export async function until<Answer>(
  ask: () => Promise<Answer>,
  fits: (answer: Answer) => boolean,
): Promise<Answer> {
  const giveUpAt = Date.now() + BOUND_MS
  for (;;) {
    const answer = await ask()
    if (fits(answer)) return answer
    if (Date.now() > giveUpAt) throw new Error(`It never came true; at last: ${JSON.stringify(answer)}`)
  }
}

/** The settings of whoever runs the tests must not decide about them. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { PERDURE_STORE: _store, FORCE_COLOR: _colour, ...rest } = env
  return rest
}
