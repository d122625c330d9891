/**
 * A server that tests start: a process of its own, ended by its id, which does not outlive the process that started it,
 * however that one ends.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** Whom a server runs as; empty: whoever runs the tests. */
export interface User {
  readonly uid?: number
  readonly gid?: number
}

export interface ServerCommand {
  readonly program: string
  readonly argv: readonly string[]
  readonly user: User
  /** The folder that it works in. */
  readonly folder: string
  /** The file that gets what it prints. */
  readonly log: string
  /** What ends it when the process that started it is gone. */
  readonly killSignal: 'QUIT' | 'KILL'
}

const START_MS = 60_000
const STOP_MS = 30_000

export class ServerProcess {
  readonly pid: number
  readonly #command: ServerCommand
  readonly #process: ChildProcess
  readonly #watchdog: ChildProcess
  #over = false
  #problem = ''
  readonly #closed: Promise<void>

  constructor(command: ServerCommand) {
    const { program, argv, user, folder } = command
    this.#command = command
    const log = openSync(command.log, 'a')
    // Its own session: a Ctrl-C in the terminal is for the tests, which then stop their servers.
    const options = { ...user, cwd: folder, detached: true, stdio: ['ignore', log, log] as const }
    this.#process = spawn(program, argv, { ...options, stdio: [...options.stdio] })
    closeSync(log)
    this.pid = this.#process.pid ?? 0
    this.#closed = new Promise((resolve) => {
      const over = (problem: string): void => {
        this.#over = true
        this.#problem = problem
        resolve()
      }
      this.#process.once('error', (error) => over(error.message))
      this.#process.once('exit', (code, signal) => over(`It ended with ${signal ?? code}.`))
    })
    this.#process.unref()
    this.#watchdog = watch(this.pid, command)
  }

  get isOver(): boolean {
    return this.#over
  }

  /** Resolves when `answers` has resolved. Rejects, with what the server printed, if it ends before. */
  async ready(answers: () => Promise<void>): Promise<void> {
    const giveUpAt = Date.now() + START_MS
    let last: unknown = null
    while (!this.#over && Date.now() < giveUpAt) {
      try {
        return await answers()
      } catch (error) {
        last = error
        await delay(20)
      }
    }
    await this.stop('SIGKILL')
    throw new Error(`${this.#command.program} did not start. ${this.#problem} ${last}\n${this.printed()}`)
  }

  printed(): string {
    return readFileSync(this.#command.log, 'utf8').slice(-4000)
  }

  /** Sends the signal and resolves when the process has ended; one that does not obey is killed. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    if (!this.#over && this.pid > 0) {
      this.#process.kill(signal)
      const timer = setTimeout(() => this.#process.kill('SIGKILL'), STOP_MS)
      await this.#closed
      clearTimeout(timer)
    }
    this.#watchdog.kill('SIGKILL')
  }
}

/** Ends the server when its input closes, which the death of this process does, and removes what it has written. */
const WATCH = `
  read -r _
  kill -"$1" "$2"
  while kill -0 "$2"; do sleep 0.1; done
  rm -rf "$3"
`

function watch(pid: number, { killSignal, user, folder }: ServerCommand): ChildProcess {
  const argv = ['-c', WATCH, 'watchdog', killSignal, String(pid), folder]
  const options = { ...user, cwd: '/', detached: true }
  const watchdog = spawn('sh', argv, { ...options, stdio: ['pipe', 'ignore', 'ignore'] })
  // Without a server there is nothing to watch.
  if (pid === 0) watchdog.kill('SIGKILL')
  watchdog.unref()
  const input = watchdog.stdin
  input.on('error', () => {})
  if ('unref' in input && typeof input.unref === 'function') input.unref()
  return watchdog
}

/** Makes a folder for a server that runs as this user. */
export function serverFolder(name: string, user: User): string {
  const folder = mkdtempSync(join(commonFolder(user), `perdure-${name}-`))
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid ?? user.uid)
  return folder
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** The folder for temporary files, if this user can work there: it may be a private one of whoever runs the tests. */
export function commonFolder(user: User): string {
  const canEnter = (folder: string): boolean =>
    spawnSync('ls', ['.'], { ...user, cwd: folder, stdio: 'ignore' }).status === 0
  return [tmpdir(), '/tmp'].find(canEnter) ?? tmpdir()
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('The system gave no port.')
  return address.port
}

/** Starts on a port that was free a moment ago, and on another one if it is not free any more. */
export async function onFreePort<Server>(
  start: (port: number) => Promise<Server>,
  attempts = 5,
): Promise<Server> {
  try {
    return await start(await freePort())
  } catch (error) {
    if (attempts <= 1 || !/in use/i.test(String(error))) throw error
    return await onFreePort(start, attempts - 1)
  }
}
