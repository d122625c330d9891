import type { Entry } from '../core/run.ts'
import type { AdvanceWrite, Birth, CancelRequest } from '../ports/store.ts'

/** What an execution has to write beside a transition. */
export type Changes = Pick<AdvanceWrite, 'entries' | 'children' | 'cancels' | 'consumed'>

/**
 * Gathers what an execution records until its next write leaves, and knows what is durable already: effects
 * wait here until all that was recorded before them is on disk.
 */
export class WriteBuffer {
  #entries = new Map<string, Entry>()
  #children: Birth[] = []
  #cancels: CancelRequest[] = []
  #consumed: string[] = []
  #recorded = 0
  #leaving = 0
  #durable = 0
  #gates: { readonly at: number; readonly open: () => void }[] = []

  /** Whether there is anything to write. */
  get dirty(): boolean {
    return this.#recorded > this.#leaving
  }

  record(entry: Entry): void {
    this.#entries.set(entry.key, entry)
    this.#recorded += 1
  }

  addChild(birth: Birth): void {
    this.#children.push(birth)
    this.#recorded += 1
  }

  addCancel(request: CancelRequest): void {
    this.#cancels.push(request)
    this.#recorded += 1
  }

  consume(itemIds: readonly string[]): void {
    this.#consumed.push(...itemIds)
  }

  /** Calls back when everything recorded so far is durable. */
  whenDurable(open: () => void): void {
    if (this.#durable >= this.#recorded) open()
    else this.#gates.push({ at: this.#recorded, open })
  }

  /** Hands over what is to be written; `committed` says when it is durable. */
  take(): Changes {
    const changes = {
      entries: [...this.#entries.values()],
      children: this.#children,
      cancels: this.#cancels,
      consumed: this.#consumed,
    }
    this.#entries = new Map()
    this.#children = []
    this.#cancels = []
    this.#consumed = []
    this.#leaving = this.#recorded
    return changes
  }

  /** What was taken last is durable: opens the gates that waited for it. */
  committed(): void {
    this.#durable = this.#leaving
    const open = this.#gates.filter((gate) => gate.at <= this.#durable)
    if (open.length === 0) return
    this.#gates = this.#gates.filter((gate) => gate.at > this.#durable)
    for (const gate of open) gate.open()
  }

  /** Forgets what was not taken yet. Returns the children that will not be created. */
  discard(): readonly Birth[] {
    this.#gates = []
    return this.take().children
  }
}
