/**
 * Copying an object between threads costs nearly as much as writing a row to SQLite. So the writes of a commit,
 * their results, and journals cross the boundary as one flat list of plain values; only what is rare travels
 * as it is.
 */
import type { Entry, RunStatus } from '../../core/run.ts'
import type { AdvanceWrite, RunJournal, Write, WriteResult } from '../../ports/store.ts'

/** Writes as a flat list: for each an `AdvanceWrite` value by value, or `null` and the write itself. */
export type PackedWrites = readonly unknown[]

/** Results as a flat list: for each the state of the run, or `null` and the result itself. */
export type PackedResults = readonly unknown[]

/** Journals as a flat list: the entries value by value, the rest as it is. */
export type PackedJournals = readonly unknown[]

/** Writes, ready to be sent. */
export function packWrites(writes: readonly Write[]): PackedWrites {
  const list: unknown[] = [writes.length]
  for (const write of writes) {
    if (write.type === 'advance') packAdvance(list, write)
    else list.push(null, write)
  }
  return list
}

/** The writes that were sent. */
export function unpackWrites(packed: PackedWrites): readonly Write[] {
  const read = new Reader(packed)
  return read.list(() => {
    const runId = read.next<string | null>()
    return runId === null ? read.next<Write>() : unpackAdvance(read, runId)
  })
}

/** Results, ready to be sent. */
export function packResults(results: readonly WriteResult[]): PackedResults {
  const list: unknown[] = [results.length]
  for (const result of results) {
    if (result.status === 'ok' && result.run !== null) list.push(result.run.status, result.run.dueAt)
    else list.push(null, result)
  }
  return list
}

/** The results that were sent. */
export function unpackResults(packed: PackedResults): readonly WriteResult[] {
  const read = new Reader(packed)
  return read.list(() => {
    const status = read.next<RunStatus | null>()
    if (status === null) return read.next<WriteResult>()
    return { status: 'ok', run: { status, dueAt: read.next() } }
  })
}

/** Journals, ready to be sent. */
export function packJournals(journals: readonly RunJournal[]): PackedJournals {
  const list: unknown[] = [journals.length]
  for (const { runId, run, inbox, entries } of journals) {
    list.push(runId, run, inbox)
    packEntries(list, entries)
  }
  return list
}

/** The journals that were sent. */
export function unpackJournals(packed: PackedJournals): readonly RunJournal[] {
  const read = new Reader(packed)
  return read.list(() => ({
    runId: read.next(),
    run: read.next(),
    inbox: read.next(),
    entries: read.list(() => unpackEntry(read)),
  }))
}

function packAdvance(list: unknown[], write: AdvanceWrite): void {
  list.push(write.runId, write.worker, write.fence, write.number, write.progress, write.to)
  packEntries(list, write.entries)
  list.push(unlessEmpty(write.children), unlessEmpty(write.deliveries))
  list.push(unlessEmpty(write.deliveriesIfCancelled), unlessEmpty(write.cancels), unlessEmpty(write.consumed))
}

function unpackAdvance(read: Reader, runId: string): AdvanceWrite {
  return {
    type: 'advance',
    runId,
    worker: read.next(),
    fence: read.next(),
    number: read.next(),
    progress: read.next(),
    to: read.next(),
    entries: read.list(() => unpackEntry(read)),
    children: read.next() ?? [],
    deliveries: read.next() ?? [],
    deliveriesIfCancelled: read.next() ?? [],
    cancels: read.next() ?? [],
    consumed: read.next() ?? [],
  }
}

function packEntries(list: unknown[], entries: readonly Entry[]): void {
  list.push(entries.length)
  for (const entry of entries) {
    list.push(entry.key, entry.kind, entry.status, entry.target, entry.childId, entry.epoch, entry.order)
    list.push(entry.value, unlessEmpty(entry.attempts), entry.dueAt, entry.startedAt, entry.endedAt)
  }
}

function unpackEntry(read: Reader): Entry {
  return {
    key: read.next(),
    kind: read.next(),
    status: read.next(),
    target: read.next(),
    childId: read.next(),
    epoch: read.next(),
    order: read.next(),
    value: read.next(),
    attempts: read.next() ?? [],
    dueAt: read.next(),
    startedAt: read.next(),
    endedAt: read.next(),
  }
}

/** An empty list is the rule, and is not worth a copy. */
function unlessEmpty<T>(list: readonly T[]): readonly T[] | null {
  return list.length === 0 ? null : list
}

/** Takes the values out of a list in the order in which they were put in. */
class Reader {
  readonly #values: readonly unknown[]
  #position = 0

  constructor(values: readonly unknown[]) {
    this.#values = values
  }

  /** The next value. `T` is what was put in there; both ends are in this file. */
  next<T>(): T {
    return this.#values[this.#position++] as T
  }

  /** A count and as many items. */
  list<T>(item: () => T): T[] {
    const length = this.next<number>()
    const items: T[] = []
    for (let i = 0; i < length; i++) items.push(item())
    return items
  }
}
