/** MongoDB for tests: the `mongod` of the machine, or a server in Java that speaks its protocol. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MongoClient } from 'mongodb'
import { commonFolder, onFreePort, removeFolder, ServerProcess, serverFolder } from './server-process.ts'

/** It knows no transactions and uses no index but unique ones; a single document changes atomically, as in a real server. */
const JAVA_SERVER = { group: 'de.bwaldvogel', name: 'mongo-java-server-h2-backend', version: '1.47.0' }

export interface MongoServer {
  readonly url: string
  readonly port: number
  /** Another one after a restart. */
  readonly pid: number
  /** Which server it is, in which version. */
  readonly server: string
  /** Ends the server and removes its data. */
  stop(): Promise<void>
  /** Ends the server in good order and starts it again, on the same port and data. */
  restart(): Promise<void>
}

/** A program that can be started on a port and a folder. */
interface Program {
  readonly name: string
  readonly program: string
  argv(port: number, folder: string): readonly string[]
}

/** Starts a server of its own, without any database, which listens on this machine only. */
export async function startMongo(): Promise<MongoServer> {
  const program = mongod() ?? javaServer()
  const folder = serverFolder('mongo', {})
  try {
    mkdirSync(join(folder, 'data'))
    return await onFreePort(async (port) => {
      const launch = (): Promise<ServerProcess> => launchOn(port, folder, program)
      return new RunningMongo({ name: program.name, folder, port, process: await launch(), launch })
    })
  } catch (error) {
    removeFolder(folder)
    throw error
  }
}

interface Running {
  readonly name: string
  readonly folder: string
  readonly port: number
  readonly process: ServerProcess
  launch(): Promise<ServerProcess>
}

class RunningMongo implements MongoServer {
  readonly url: string
  readonly port: number
  readonly server: string
  readonly #running: Running
  #process: ServerProcess

  constructor(running: Running) {
    this.url = urlOf(running.port)
    this.port = running.port
    this.server = running.name
    this.#running = running
    this.#process = running.process
  }

  get pid(): number {
    return this.#process.pid
  }

  async stop(): Promise<void> {
    await this.#process.stop('SIGTERM')
    removeFolder(this.#running.folder)
  }

  async restart(): Promise<void> {
    await this.#process.stop('SIGTERM')
    this.#process = await this.#running.launch()
  }
}

function urlOf(port: number): string {
  return `mongodb://127.0.0.1:${port}/`
}

async function launchOn(port: number, folder: string, { program, argv }: Program): Promise<ServerProcess> {
  const server = new ServerProcess({
    program,
    argv: argv(port, folder),
    user: {},
    folder,
    log: join(folder, 'server.log'),
    killSignal: 'KILL',
  })
  await server.ready(() => connectOnce(urlOf(port)))
  return server
}

async function connectOnce(url: string): Promise<void> {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 5_000 })
  try {
    await client.db('admin').command({ ping: 1 })
  } finally {
    await client.close()
  }
}

function mongod(): Program | null {
  const { status, stdout } = spawnSync('mongod', ['--version'], { encoding: 'utf8' })
  if (status !== 0) return null
  return {
    name: `mongod ${/v(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? ''}`.trim(),
    program: 'mongod',
    argv: (port, folder) => [
      ...['--bind_ip', '127.0.0.1', '--port', String(port), '--quiet'],
      ...['--dbpath', join(folder, 'data'), '--nounixsocket'],
    ],
  }
}

function javaServer(): Program {
  const jars = javaLibraries()
  const launcher = fileURLToPath(new URL('MongoLauncher.java', import.meta.url))
  return {
    name: `${JAVA_SERVER.name} ${JAVA_SERVER.version}`,
    program: 'java',
    argv: (port, folder) => [
      ...['-Xmx768m', '-XX:+UseSerialGC', '-cp', join(jars, '*'), launcher],
      ...[String(port), join(folder, 'data', 'mongo.mv')],
    ],
  }
}

/** The folder of the server's jars: fetched once per machine and user. */
function javaLibraries(): string {
  const user = process.getuid?.() ?? 0
  const folder = join(commonFolder({}), `perdure-${JAVA_SERVER.name}-${JAVA_SERVER.version}-${user}`)
  provideJava(existsSync(folder) ? ['java'] : ['java', 'mvn'])
  if (!existsSync(folder)) fetchLibraries(folder)
  // Whoever else shares this machine could have put something else there.
  if (statSync(folder).uid !== user) throw new Error(`${folder} belongs to somebody else. Remove it.`)
  return join(folder, 'jars')
}

/** Made under a name of its own and then renamed: other processes may be doing the same. */
function fetchLibraries(folder: string): void {
  const draft = `${folder}.${process.pid}`
  const { group, name, version } = JAVA_SERVER
  removeFolder(draft)
  mkdirSync(draft, { mode: 0o700 })
  const dependency = `<groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version>`
  const pom = `<project><modelVersion>4.0.0</modelVersion>
    <groupId>perdure</groupId><artifactId>mongo-for-tests</artifactId><version>1</version>
    <dependencies><dependency>${dependency}</dependency></dependencies></project>`
  writeFileSync(join(draft, 'pom.xml'), pom)
  const argv = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${join(draft, 'jars')}`]
  const { status, stdout } = spawnSync('mvn', argv, { cwd: draft, encoding: 'utf8', timeout: 300_000 })
  if (status === 0 && !existsSync(folder)) renameSync(draft, folder)
  removeFolder(draft)
  if (!existsSync(folder)) throw new Error(`Maven could not fetch ${name} ${version}: ${stdout}`)
}

function isMissing(program: string): boolean {
  return spawnSync(program, ['-version'], { stdio: 'ignore' }).status !== 0
}

function provideJava(programs: readonly string[]): void {
  if (programs.some(isMissing) && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) installJava()
  if (!programs.some(isMissing)) return
  throw new Error(
    'There is no mongod. Install it, or a JDK from 17 on and Maven, e.g. "apt-get install default-jdk-headless maven".',
  )
}

/** Only the programs are wanted: while they are installed, no service is started. */
function installJava(): void {
  const policy = '/usr/sbin/policy-rc.d'
  const hasPolicy = existsSync(policy)
  if (!hasPolicy) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  const options = ['-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120']
  const install = ['install', ...options, 'default-jdk-headless', 'maven']
  try {
    if (!aptGet(install)) aptGet(['update']) && aptGet(install)
  } finally {
    if (!hasPolicy) rmSync(policy, { force: true })
  }
}

function aptGet(argv: readonly string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return spawnSync('apt-get', argv, { env, stdio: 'ignore', timeout: 600_000 }).status === 0
}
