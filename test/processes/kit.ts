/**
 * Real processes for tests: starts Node programs, reads the JSON lines that they print, sends them signals, and ends
 * whatever is left when the test is over, also if it fails.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { onTestFinished, vi } from 'vitest'
import { createEngine, defineWorkflow, type Engine, type Log, type Store } from '../../src/index.ts'
import { serviceOrSkip } from '../services/service.ts'
import { openConnection } from '../sqlite/helpers.ts'
import { fileIn, flawsOf, openPlace, type Place, placeOn, removePlace } from './places.ts'

/** The longest that anything may take: a bound against hanging, not a promise of speed. */
export const PATIENCE_MS = 60_000

vi.setConfig({ testTimeout: 240_000 })

/** A line that a program has printed. */
export interface Line {
  readonly at: string
  readonly [name: string]: unknown
}

/** A line that a step body has appended to the log of side effects. */
export interface Effect {
  readonly at: string
  readonly time: number
  readonly pid: number
  readonly run: string
  readonly step: string
  readonly attempt: number
  /** Different for each time that a body is called. */
  readonly nonce: string
  /** Nonces of outcomes that the function had been given before. */
  readonly saw: readonly string[]
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A process that a test has started. */
export class Child {
  readonly pid: number
  readonly lines: Line[] = []
  errors = ''
  exit: Exit | null = null
  readonly #process: ChildProcess
  readonly #closed: Promise<unknown>
  #read = 0

  constructor(program: URL, settings: unknown) {
    const argv = [program.pathname, JSON.stringify(settings)]
    this.#process = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'pipe'] })
    const { pid, stdout, stderr } = this.#process
    if (pid === undefined || stdout === null || stderr === null) throw new Error('The process did not start.')
    this.pid = pid
    createInterface({ input: stdout }).on('line', (line) => this.lines.push(JSON.parse(line)))
    stderr.on('data', (chunk) => {
      this.errors += chunk
    })
    this.#closed = once(this.#process, 'close').then(([code, signal]) => {
      this.exit = { code, signal }
    })
  }

  /** The next line of this kind that was not asked for before. */
  async line(at: string): Promise<Line> {
    const find = (): Line | null => {
      const index = this.lines.findIndex((line, i) => i >= this.#read && line.at === at)
      if (index < 0) return null
      this.#read = index + 1
      return this.lines[index] ?? null
    }
    return await until(`process ${this.pid} prints "${at}"`, () => {
      const line = find()
      if (line === null && this.exit !== null) {
        throw new Error(`Process ${this.pid} ended before it printed "${at}": ${this.#story()}`)
      }
      return line
    })
  }

  /** All lines of this kind so far. */
  all(at: string): readonly Line[] {
    return this.lines.filter((line) => line.at === at)
  }

  /** Sends SIGKILL. */
  kill(): void {
    this.signal('SIGKILL')
  }

  /** Freezes the process, threads and all. */
  async stop(): Promise<void> {
    this.signal('SIGSTOP')
    await until(`process ${this.pid} is stopped`, () => stateOf(this.pid) === 'T')
  }

  continue(): void {
    this.signal('SIGCONT')
  }

  signal(signal: NodeJS.Signals): void {
    if (this.exit === null) this.#process.kill(signal)
  }

  /** Resolves when the process has ended and all that it printed was read. */
  async ended(): Promise<Exit> {
    await until(
      `process ${this.pid} ends`,
      () => this.exit !== null,
      () => this.#story(),
    )
    return this.exit ?? { code: null, signal: null }
  }

  /** Ends it for good; does not fail. */
  async bury(): Promise<void> {
    this.kill()
    await this.#closed
  }

  #story(): string {
    return `${JSON.stringify(this.exit)} ${JSON.stringify(this.lines.slice(-5))} ${this.errors}`
  }
}

/** Starts `programs/<name>.mjs`. The process does not outlive the test. */
export function start(name: string, settings: object): Child {
  const child = new Child(new URL(`./programs/${name}.mjs`, import.meta.url), settings)
  onTestFinished(() => child.bury())
  return child
}

/** Waits for a condition to hold; what it returns must not be falsy. Rejects after a bound, never earlier. */
export async function until<Value>(
  what: string,
  condition: () => Value | Promise<Value>,
  more: () => string = () => '',
): Promise<NonNullable<Value>> {
  const giveUpAt = Date.now() + PATIENCE_MS
  for (;;) {
    const value = await condition()
    if (value) return value
    if (Date.now() > giveUpAt) throw new Error(`This did not happen in ${PATIENCE_MS} ms: ${what} ${more()}`)
    await delay(10)
  }
}

/** Where a test's processes meet: a database and a log of side effects, removed after the test. */
export class World {
  readonly folder: string
  /** Where the database is. */
  readonly place: Place

  constructor(folder: string, place: Place = fileIn(folder)) {
    this.folder = folder
    this.place = place
  }

  /** The file of the database, if it is one. */
  get db(): string {
    return this.place.database
  }

  get log(): string {
    return join(this.folder, 'effects.log')
  }

  /** The path of a file by which a test tells programs something. */
  file(name: string): string {
    return join(this.folder, name)
  }

  /** Starts a program in this world. */
  start(name: string, settings: object = {}): Child {
    return start(name, { db: this.db, place: this.place, log: this.log, folder: this.folder, ...settings })
  }

  /** The size of the log of side effects, in bytes: grows while work goes on. */
  logSize(): number {
    return statSync(this.log, { throwIfNoEntry: false })?.size ?? 0
  }

  /** What step bodies did, in the order in which they did it. */
  effects(): readonly Effect[] {
    if (!existsSync(this.log)) return []
    // A process that is killed while it appends cannot leave half a line: one write is one line.
    return readFileSync(this.log, 'utf8').split('\n').filter(Boolean).map(parseEffect)
  }

  /** What bodies of this step, or of all, did at this place. */
  effectsAt(at: string, run?: string, step?: string): readonly Effect[] {
    return this.effects().filter((effect) => {
      return effect.at === at && (run ?? effect.run) === effect.run && (step ?? effect.step) === effect.step
    })
  }

  /** An engine of the test's own process that starts and watches runs of these workflows, and executes none. */
  client(...workflows: readonly string[]): Engine {
    const engine = createEngine({
      store: openPlace(this.place),
      workflows: workflows.map((name) => defineWorkflow({ name }, notHere)),
      log: quiet,
      pollInterval: 100,
    })
    onTestFinished(() => engine.close())
    return engine
  }

  /**
   * Freezes a process at a moment when it does not hold the write lock of the file. (One that does keeps all others
   * from writing until it goes on: such is a lock on a file.)
   */
  async freeze(child: Child): Promise<void> {
    if (this.place.database.includes('://')) return await child.stop()
    const connection = await openConnection(this.db)
    await until('the process is frozen without a lock', async () => {
      await child.stop()
      try {
        connection.exec('BEGIN IMMEDIATE')
        connection.exec('ROLLBACK')
        return true
      } catch {
        child.continue()
        return false
      }
    })
  }

  /** A store of the test's own process. */
  openStore(): Store {
    const store = openPlace(this.place)
    onTestFinished(() => store.close())
    return store
  }

  /** What is wrong with the data itself. */
  async flaws(): Promise<readonly unknown[]> {
    return await flawsOf(this.place)
  }
}

/** A world on a file, or on a server. */
export async function newWorld(url: string | null = null): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-processes-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  if (url === null) return new World(folder)
  const place = placeOn(url)
  onTestFinished(() => removePlace(place))
  return new World(folder, place)
}

export type Shared = 'SQLite' | 'PostgreSQL' | 'MongoDB'

/** The databases that several processes can share; `null` for a file. */
export async function sharedDatabases(): Promise<readonly (readonly [Shared, string | null])[]> {
  const servers: readonly (readonly [Shared, string | null])[] = [
    ['PostgreSQL', await serviceOrSkip('postgres')],
    ['MongoDB', await serviceOrSkip('mongo')],
  ]
  return [['SQLite', null], ...servers.filter(([, url]) => url !== null)]
}

/** Numbers that look random and are the same for the same seed. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** 0 ≤ x < 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from `min` to `max`. */
  whole(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.whole(0, items.length - 1)]
    if (item === undefined) throw new Error('There is nothing to pick.')
    return item
  }
}

const ignore = (): void => {}
const quiet: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore }

function notHere(): never {
  throw new Error('The programs execute the workflows, not the test.')
}

function parseEffect(line: string): Effect {
  return JSON.parse(line)
}

/** The state letter of a process, e.g. `T` for stopped. */
function stateOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3)
}
