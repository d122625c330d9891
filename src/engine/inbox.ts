import type { InboxItem } from '../core/run.ts'
import type { Operation } from './operations/operation.ts'

/** Something that has become possible for an operation at a certain time. */
interface Arrival {
  readonly at: number
  readonly operation: Operation
  readonly item: InboxItem | null
}

/** What was delivered to a run and not consumed yet, and the rule by which it meets the operations. */
export class Inbox {
  readonly #known = new Set<string>()
  #items: InboxItem[] = []

  /** Adds items, oldest first; those that this execution has had before are ignored. */
  add(items: readonly InboxItem[]): void {
    for (const item of items) {
      if (this.#known.has(item.id)) continue
      this.#known.add(item.id)
      this.#items.push(item)
    }
  }

  /**
   * Gives due timers and delivered items to the operations, in the order in which they happened. Events go to the
   * waits of their name in the order of the waits; an event that came after a wait's timeout is not for it.
   */
  distribute(operations: Iterable<Operation>, now: number): void {
    const waiting = [...operations].filter((operation) => operation.phase === 'waiting')
    const arrivals = this.#match(waiting)
    for (const operation of waiting) {
      if (operation.dueAt !== null && operation.dueAt <= now) {
        arrivals.push({ at: operation.dueAt, operation, item: null })
      }
    }
    arrivals.sort((a, b) => a.at - b.at || a.operation.asked - b.operation.asked)
    for (const { operation, item } of arrivals) {
      if (operation.phase !== 'waiting') continue
      if (item === null) operation.due(now)
      else operation.deliver(item)
    }
  }

  /** Pairs items with operations; paired items leave the inbox. */
  #match(waiting: readonly Operation[]): Arrival[] {
    if (this.#items.length === 0) return []
    const arrivals: Arrival[] = []
    const taken = new Set<Operation>()
    this.#items = this.#items.filter((item) => {
      const operation = waiting.find((candidate) => !taken.has(candidate) && isFor(item, candidate))
      if (operation === undefined) return true
      taken.add(operation)
      arrivals.push({ at: item.at, operation, item })
      return false
    })
    return arrivals
  }
}

function isFor(item: InboxItem, operation: Operation): boolean {
  if (item.kind === 'child') return operation.key === item.name
  if (operation.event !== item.name) return false
  return operation.dueAt === null || item.at <= operation.dueAt
}
