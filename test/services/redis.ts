/** Redis for tests: the `redis-server` of the machine. */
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { onFreePort, removeFolder, ServerProcess, serverFolder } from './server-process.ts'

export interface RedisOptions {
  /** Writes every change to a file; off by default. */
  readonly appendonly?: boolean
  /** When that file is flushed. */
  readonly appendfsync?: 'always' | 'everysec' | 'no'
  /** The folder of its files; by default one of its own, which is removed when it stops. */
  readonly dir?: string
}

export interface RedisServer {
  readonly url: string
  readonly port: number
  /** Another one after a restart. */
  readonly pid: number
  stop(): Promise<void>
  /** Ends the server and starts it again on the same port: without `appendonly`, it has forgotten everything. */
  restart(): Promise<void>
}

/** Starts a server of its own, which listens on this machine only. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  provideRedis()
  const folder = serverFolder('redis', {})
  try {
    return await onFreePort(async (port) => {
      const launch = (): Promise<ServerProcess> => launchOn(port, folder, options)
      return new RunningRedis(folder, port, await launch(), launch)
    })
  } catch (error) {
    removeFolder(folder)
    throw error
  }
}

class RunningRedis implements RedisServer {
  readonly url: string
  readonly port: number
  readonly #folder: string
  readonly #launch: () => Promise<ServerProcess>
  #process: ServerProcess

  constructor(folder: string, port: number, process: ServerProcess, launch: () => Promise<ServerProcess>) {
    this.url = `redis://127.0.0.1:${port}`
    this.port = port
    this.#folder = folder
    this.#process = process
    this.#launch = launch
  }

  get pid(): number {
    return this.#process.pid
  }

  async stop(): Promise<void> {
    await this.#process.stop('SIGTERM')
    removeFolder(this.#folder)
  }

  async restart(): Promise<void> {
    await this.#process.stop('SIGTERM')
    this.#process = await this.#launch()
  }
}

async function launchOn(port: number, folder: string, options: RedisOptions): Promise<ServerProcess> {
  const settings = {
    bind: '127.0.0.1',
    port: String(port),
    dir: options.dir ?? folder,
    save: '',
    appendonly: options.appendonly === true ? 'yes' : 'no',
    appendfsync: options.appendfsync ?? 'everysec',
  }
  const server = new ServerProcess({
    program: 'redis-server',
    argv: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    user: {},
    folder,
    log: join(folder, 'server.log'),
    killSignal: 'KILL',
  })
  await server.ready(() => ping(port))
  return server
}

async function ping(port: number): Promise<void> {
  const client = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.ping()
  } finally {
    client.disconnect()
  }
}

function isInstalled(): boolean {
  return spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).status === 0
}

function provideRedis(): void {
  if (isInstalled()) return
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) installRedis()
  if (!isInstalled())
    throw new Error('There is no redis-server. Install it, e.g. "apt-get install redis-server".')
}

/** Only the program is wanted: while it is installed, no service is started. */
function installRedis(): void {
  const policy = '/usr/sbin/policy-rc.d'
  const hasPolicy = existsSync(policy)
  if (!hasPolicy) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    const install = [
      'install',
      '-y',
      '--no-install-recommends',
      '-o',
      'DPkg::Lock::Timeout=120',
      'redis-server',
    ]
    if (!aptGet(install)) aptGet(['update']) && aptGet(install)
  } finally {
    if (!hasPolicy) rmSync(policy, { force: true })
  }
}

function aptGet(argv: readonly string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return spawnSync('apt-get', argv, { env, stdio: 'ignore', timeout: 300_000 }).status === 0
}
