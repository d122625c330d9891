/** Which writes fit into documents. Pure. */
import type { AdvanceWrite, Write } from '../../ports/store.ts'
import { sizeOf, toStored } from './documents.ts'
import type { Effect } from './draft.ts'
import { MAX_DOCUMENT_BYTES, MIB } from './sizes.ts'

/** Why this write can never be stored; `null` if it can. */
export function unstorable(write: Write | Effect): string | null {
  switch (write.type) {
    case 'create':
      return unstorableRun(write.run)
    case 'deliver':
      return tooLarge('The inbox item', write.item)
    case 'advance': {
      const { entries, children, to } = write
      const deliveries = [...write.deliveries, ...write.deliveriesIfCancelled]
      return (
        first(entries, (entry) => tooLarge('The journal entry', entry)) ??
        first(children, ({ run }) => unstorableRun(run)) ??
        first(deliveries, ({ item }) => tooLarge('The inbox item', item)) ??
        tooLarge('The end of the run', to)
      )
    }
    case 'control':
      return null
  }
}

/** How many bytes a write adds to the document of its run, besides what can go elsewhere. */
export function bytesInRun(write: Write | Effect): number {
  switch (write.type) {
    case 'create':
    case 'control':
      return 0
    case 'deliver':
      return storedSizeOf(write.item)
    case 'advance':
      return bytesOfAdvance(write)
  }
}

function bytesOfAdvance({ runId, to, consumed, deliveries }: AdvanceWrite): number {
  const own = deliveries.filter((delivery) => delivery.runId === runId)
  return storedSizeOf([to, consumed, own])
}

function unstorableRun({
  entries,
  ...run
}: Extract<Write, { readonly type: 'create' }>['run']): string | null {
  return tooLarge('The run', run) ?? first(entries, (entry) => tooLarge('The journal entry', entry))
}

function first<Item>(items: readonly Item[], problem: (item: Item) => string | null): string | null {
  for (const item of items) {
    const found = problem(item)
    if (found !== null) return found
  }
  return null
}

function tooLarge(what: string, value: unknown): string | null {
  const bytes = storedSizeOf(value)
  return bytes <= MAX_DOCUMENT_BYTES ? null : tooManyBytes(what, bytes)
}

/** How many bytes the value takes when it is stored: some characters then take more than they do otherwise. */
export function storedSizeOf(value: unknown): number {
  const bytes = sizeOf(value)
  return bytes * LONGEST_ESCAPE <= MAX_DOCUMENT_BYTES ? bytes : sizeOf(toStored(value))
}

/** How many bytes one byte of text may become. */
const LONGEST_ESCAPE = 5

export function tooManyBytes(what: string, bytes: number): string {
  return (
    `${what} takes ${(bytes / MIB).toFixed(1)} MiB. MongoDB stores documents of up to 16 MiB. ` +
    'Store large values elsewhere, and a reference to them in the run.'
  )
}
