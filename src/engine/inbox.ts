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
  /** Oldest first, by what waits for them. */
  readonly #items = new Map<string, InboxItem[]>()

  /** Adds items, oldest first; those that this execution has had before are ignored. */
  add(items: readonly InboxItem[]): void {
    for (const item of items) {
      if (this.#known.has(item.id)) continue
      this.#known.add(item.id)
      const address = addressOf(item.kind, item.name)
      const others = this.#items.get(address)
      if (others === undefined) this.#items.set(address, [item])
      else others.push(item)
    }
  }

  /**
   * Gives due timers and delivered items to the operations, in the order in which they happened. Events go to the
   * waits of their name in the order of the waits; an event that came after a wait's timeout is not for it.
   */
  distribute(operations: Iterable<Operation>, now: number): void {
    const arrivals: Arrival[] = []
    for (const operation of operations) {
      if (operation.phase !== 'waiting') continue
      const item = this.#take(operation)
      if (item !== null) arrivals.push({ at: item.at, operation, item })
      else if (operation.dueAt !== null && operation.dueAt <= now) {
        arrivals.push({ at: operation.dueAt, operation, item })
      }
    }
    arrivals.sort((a, b) => a.at - b.at || a.operation.asked - b.operation.asked)
    for (const { operation, item } of arrivals) {
      if (item === null) operation.due(now)
      else operation.deliver(item)
    }
  }

  /** The oldest item that is for an operation; it leaves the inbox. */
  #take(operation: Operation): InboxItem | null {
    if (this.#items.size === 0) return null
    const { event, key } = operation
    const items = this.#items.get(event === null ? addressOf('child', key) : addressOf('event', event))
    const place = items?.findIndex((item) => operation.accepts(item)) ?? -1
    return items?.splice(place, place < 0 ? 0 : 1)[0] ?? null
  }
}

function addressOf(kind: InboxItem['kind'], name: string): string {
  return `${kind}:${name}`
}
