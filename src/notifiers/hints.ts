/** Hints on their way: merged, as text that any channel can carry, and read again. */
import type { Hint } from '../ports/notifier.ts'

/** The longest message in bytes. PostgreSQL refuses those of 8,000. */
export const MAX_MESSAGE_BYTES = 7_500

/** The most run ids that wait to be sent. Others look into the store on their own, so the rest may be left out. */
export const MAX_GATHERED_IDS = 5_000

/** What of the form of messages must fit; those of another form are ignored. */
const FORM = 1

/** Hints merged: the earliest due time, and each run once. */
export class HintBatch {
  #due: number | null = null
  readonly #delivered = new Set<string>()
  readonly #ended = new Set<string>()

  get isEmpty(): boolean {
    return this.#due === null && this.#delivered.size === 0 && this.#ended.size === 0
  }

  /** The earliest time at which something is due. */
  get due(): number | null {
    return this.#due
  }

  get delivered(): ReadonlySet<string> {
    return this.#delivered
  }

  get ended(): ReadonlySet<string> {
    return this.#ended
  }

  add(hints: readonly Hint[]): void {
    for (const hint of hints) {
      if (hint.kind === 'due') this.#addDue(hint.at)
      else if (this.#delivered.size + this.#ended.size < MAX_GATHERED_IDS) this.#addRun(hint)
    }
  }

  #addDue(at: number): void {
    if (Number.isFinite(at)) this.#due = Math.min(this.#due ?? at, at)
  }

  #addRun({ kind, runId }: { readonly kind: 'delivered' | 'ended'; readonly runId: string }): void {
    const ids = kind === 'delivered' ? this.#delivered : this.#ended
    ids.add(runId)
  }
}

/** A message without hints: it says only that its sender can be heard. */
export function encodeEmpty(sender: string): string {
  return frame(sender, null, [], [])
}

/**
 * The messages that say what is in `batch`, each at most {@link MAX_MESSAGE_BYTES} long and of ASCII characters only: so
 * neither NUL nor half a surrogate pair nor the encoding of a database can be in the way.
 */
export function encode(sender: string, batch: HintBatch): string[] {
  const messages: string[] = []
  const room =
    MAX_MESSAGE_BYTES - Math.max(...[batch.due, null].map((at) => frame(sender, at, [], []).length))
  let due = batch.due
  let left = room
  let ids: Ids = { delivered: [], ended: [] }
  const send = (): void => {
    messages.push(frame(sender, due, ids.delivered, ids.ended))
    due = null
    left = room
    ids = { delivered: [], ended: [] }
  }
  const add = (kind: keyof Ids, runId: string): void => {
    const text = ascii(runId)
    // No id of the engine is that long.
    if (text.length + 1 > room) return
    if (text.length + 1 > left) send()
    ids[kind].push(text)
    left -= text.length + 1
  }
  for (const id of batch.ended) add('ended', id)
  for (const id of batch.delivered) add('delivered', id)
  if (due !== null || ids.delivered.length + ids.ended.length > 0) send()
  return messages
}

interface Ids {
  readonly delivered: string[]
  readonly ended: string[]
}

/** What a message says. */
export interface Message {
  readonly sender: string
  readonly hints: readonly Hint[]
}

/** Reads a message; `null` if it is none of ours. Whoever may use the channel may send anything. */
export function decode(text: string): Message | null {
  if (text.length > MAX_MESSAGE_BYTES) return null
  const parts = parse(text)
  if (!Array.isArray(parts)) return null
  const [form, sender, due, delivered, ended] = parts as readonly unknown[]
  if (form !== FORM || typeof sender !== 'string') return null
  const hints: Hint[] = []
  if (typeof due === 'number' && Number.isFinite(due)) hints.push({ kind: 'due', at: due })
  for (const runId of strings(delivered)) hints.push({ kind: 'delivered', runId })
  for (const runId of strings(ended)) hints.push({ kind: 'ended', runId })
  return { sender, hints }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function frame(sender: string, due: number | null, delivered: string[], ended: string[]): string {
  return `[${FORM},${ascii(sender)},${due},[${delivered}],[${ended}]]`
}

/** A string as JSON of ASCII characters; what is left out of JSON's own escapes is escaped by unit. */
function ascii(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
