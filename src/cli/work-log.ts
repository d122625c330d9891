import { type EngineEvent, formatDuration, type Observer } from '../index.ts'
import type { Context } from './context.ts'
import { escapeText } from './format/escape.ts'
import { jsonText } from './format/json.ts'
import { isoTime } from './format/time.ts'

export interface WorkLogOptions {
  readonly context: Context
  /** Where the lines go. */
  readonly write: (line: string) => void
  /** The name of a run's workflow, which events do not tell; `null` if it cannot be found out. */
  readonly workflowOf: (runId: string) => Promise<string | null>
}

/** So many names are kept; then all are forgotten, and looked up again when they are needed. */
const MAX_NAMES = 10_000

/** Tells what a worker does, one line per event, in the order of the events. */
export class WorkLog {
  readonly #options: WorkLogOptions
  readonly #names = new Map<string, string>()
  /** When the bodies that run began, by run and step. */
  readonly #bodies = new Map<string, Map<string, number>>()
  #written: Promise<void> = Promise.resolve()

  constructor(options: WorkLogOptions) {
    this.#options = options
  }

  /** To be given to the engine. */
  readonly observer: Observer = (event) => {
    const { context, write } = this.#options
    const now = context.now()
    if (context.json) write(jsonText({ time: isoTime(now), event: event.type, ...withoutType(event) }))
    else this.#tell(event, now)
  }

  /** Resolves when all lines are written. */
  async flushed(): Promise<void> {
    await this.#written
  }

  #tell(event: EngineEvent, now: number): void {
    const { context, write } = this.#options
    const text = this.#describe(event, now)
    if (text === null) return
    // A name may have to be read first; later lines wait for it, so that they stay in order.
    this.#written = this.#written.then(async () => {
      const name = await this.#nameOf(event.runId)
      const { dim } = context.colours
      write([dim(clock(now)), escapeText(name), dim(escapeText(event.runId)), text].join('  '))
    })
  }

  async #nameOf(runId: string): Promise<string> {
    const known = this.#names.get(runId)
    if (known !== undefined) return known
    const name = await this.#options.workflowOf(runId).catch(() => null)
    if (name === null) return '?'
    if (this.#names.size >= MAX_NAMES) this.#names.clear()
    this.#names.set(runId, name)
    return name
  }

  #describe(event: EngineEvent, now: number): string | null {
    const { red, green, yellow, bold } = this.#options.context.colours
    switch (event.type) {
      case 'execution-started':
        return event.how === 'cold' ? 'started' : 'goes on'
      case 'execution-left':
        this.#bodies.delete(event.runId)
        return bold(escapeText(event.status))
      case 'execution-lost':
        this.#bodies.delete(event.runId)
        return yellow('claim lost')
      case 'body-started':
        this.#begin(event.runId, event.key, now)
        return `${escapeText(event.key)}: ${event.attempt === 1 ? 'runs' : `runs, attempt ${event.attempt}`}`
      case 'body-ended': {
        const took = this.#end(event.runId, event.key, now)
        const paint = { succeeded: green, failed: red, late: yellow }[event.outcome]
        return `${escapeText(event.key)}: ${paint(event.outcome)}${took}`
      }
      case 'handed-out':
        return null
      default:
        // Newer engines may tell more.
        event satisfies never
        return null
    }
  }

  #begin(runId: string, key: string, now: number): void {
    const bodies = this.#bodies.get(runId) ?? new Map<string, number>()
    this.#bodies.set(runId, bodies.set(key, now))
  }

  #end(runId: string, key: string, now: number): string {
    const startedAt = this.#bodies.get(runId)?.get(key)
    this.#bodies.get(runId)?.delete(key)
    return startedAt === undefined ? '' : ` in ${formatDuration(now - startedAt)}`
  }
}

function withoutType({ type: _, ...rest }: EngineEvent): Omit<EngineEvent, 'type'> {
  return rest
}

function clock(ms: number): string {
  const date = new Date(ms)
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()]
  const time = parts.map((part) => String(part).padStart(2, '0')).join(':')
  return `${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
