import { spawn } from 'node:child_process'
import type { Timings } from '../../src/notifiers/time.ts'
import type { Log } from '../../src/ports/environment.ts'
import type { Hint } from '../../src/ports/notifier.ts'

/** The longest that anything may take: a bound against hanging, not a promise of speed. */
const PATIENCE_MS = 20_000

/** Short enough for tests to see all of it. */
export const QUICK: Timings = {
  probe: 200,
  answer: 1_000,
  firstPause: 10,
  longestPause: 100,
  deafPause: 50,
  farewell: 1_000,
  quiet: 60_000,
}

/** What waits for something to be noted down, instead of for some time to pass. */
export class Notes<Note> {
  readonly all: Note[] = []
  readonly #waiting = new Set<() => void>()

  note(...notes: readonly Note[]): void {
    this.all.push(...notes)
    for (const look of this.#waiting) look()
  }

  /** Resolves as soon as `isThere` is true of the notes. */
  async until(what: string, isThere: (notes: readonly Note[]) => boolean): Promise<void> {
    if (isThere(this.all)) return
    await new Promise<void>((resolve, reject) => {
      const giveUp = (): void => reject(new Error(`${what}: ${JSON.stringify(this.all)}`))
      const timer = setTimeout(giveUp, PATIENCE_MS)
      const look = (): void => {
        if (!isThere(this.all)) return
        clearTimeout(timer)
        this.#waiting.delete(look)
        resolve()
      }
      this.#waiting.add(look)
    })
  }
}

/** A subscriber. */
export class Ear extends Notes<Hint> {
  readonly listen = (hints: readonly Hint[]): void => this.note(...hints)

  /** How often it was told to look for what it has missed. */
  get callsToLook(): number {
    return this.all.filter(isCallToLook).length
  }

  /** Resolves when it was told so often to look for what it has missed, i.e. when the connection listens. */
  async listens(times = 1): Promise<void> {
    await this.until(`it listens ${times} times`, (hints) => hints.filter(isCallToLook).length >= times)
  }

  async hears(runId: string): Promise<void> {
    await this.until(`it hears of ${runId}`, (hints) =>
      hints.some((hint) => 'runId' in hint && hint.runId === runId),
    )
  }
}

function isCallToLook(hint: Hint): boolean {
  return hint.kind === 'due' && hint.at === 0
}

/** A log that remembers its warnings, each with its error. */
export class MemoryLog extends Notes<string> implements Log {
  debug(): void {}
  info(): void {}
  warn(message: string, { error = '' }: Readonly<Record<string, unknown>> = {}): void {
    this.note(`${message} ${error}`.trim())
  }
  error(message: string): void {
    this.note(message)
  }

  async told(part: string): Promise<void> {
    await this.until(`it is told: ${part}`, (lines) => lines.some((line) => line.includes(part)))
  }
}

export function ended(runId: string): Hint {
  return { kind: 'ended', runId }
}

/** Runs a module in a process of its own, and waits until that has ended by itself. Returns what it printed. */
export async function run(code: string): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
  const [status, signal] = await new Promise<readonly unknown[]>((resolve) => {
    child.on('close', (...end) => resolve(end))
  })
  clearTimeout(timer)
  if (status !== 0 || errors !== '') throw new Error(`It ended with ${status ?? signal}: ${output}${errors}`)
  return output
}

/** The address of a built module, for processes. */
export function built(path: string): string {
  return JSON.stringify(new URL(`../../dist/${path}`, import.meta.url).href)
}
