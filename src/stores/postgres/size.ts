import type { Entry } from '../../core/run.ts'
import type { Birth, Delivery, Write } from '../../ports/store.ts'

/** About how long the text of a write is, in UTF-16 units. */
export function sizeOf(write: Write): number {
  switch (write.type) {
    case 'create':
      return sizeOfBirth(write)
    case 'deliver':
      return sizeOfDelivery(write)
    case 'control':
      return OVERHEAD
    case 'advance': {
      const { entries, children, deliveries, deliveriesIfCancelled, to } = write
      const end = to !== null && 'output' in to ? (to.output?.length ?? 0) + (to.error?.length ?? 0) : 0
      return (
        OVERHEAD +
        end +
        sum(entries, sizeOfEntry) +
        sum(children, sizeOfBirth) +
        sum(deliveries, sizeOfDelivery) +
        sum(deliveriesIfCancelled, sizeOfDelivery)
      )
    }
  }
}

/** All that is not a value: names, numbers and the members' names. */
const OVERHEAD = 500

function sizeOfBirth({ run }: Birth): number {
  return OVERHEAD + run.input.length + sum(run.entries, sizeOfEntry)
}

function sizeOfDelivery({ item }: Delivery): number {
  return OVERHEAD + item.payload.length
}

function sizeOfEntry({ value, attempts }: Entry): number {
  return OVERHEAD + (value?.length ?? 0) + sum(attempts, ({ error }) => error.length)
}

function sum<Item>(items: readonly Item[], size: (item: Item) => number): number {
  let total = 0
  for (const item of items) total += size(item)
  return total
}
