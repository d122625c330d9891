import type { StoreCause } from '../../core/invariants-trace.ts'
import type { Entry, InboxItem, RunRecord } from '../../core/run.ts'
import type { Store, Write, WriteResult } from '../../ports/store.ts'
import type { MemoryData } from '../../stores/memory/index.ts'
import type { Tracer } from './tracer.ts'

export interface RecorderOptions {
  /** The store that is recorded. */
  readonly store: Store
  /** What it works on: tells what each call has changed. */
  readonly data: MemoryData
  readonly tracer: Tracer
  /** The process that calls. */
  readonly process: string
}

/** One of the changes that a write may make. */
interface Possible {
  readonly cause: StoreCause | 'delete'
  readonly runId: string
  readonly item: InboxItem | null
}

/** A change and what there was before and after the write. */
interface Touched extends Possible {
  readonly before: RunRecord | null
  readonly after: RunRecord | null
  /** Whether the item was put into the inbox by this write. */
  readonly arrived: boolean
}

/**
 * Writes what a store does into the trace: every change of a run, and every refusal. The memory store works before it
 * returns its promise, so what its data holds before and after a call is what the call did.
 */
export class Recorder {
  readonly #options: RecorderOptions

  constructor(options: RecorderOptions) {
    this.#options = options
  }

  async commit(writes: readonly Write[], now: number): Promise<readonly WriteResult[]> {
    // One by one, because two writes of a batch may touch the same run; but all before the first answer.
    const applied = writes.map((write) => this.#apply(write, now))
    const results: WriteResult[] = []
    for (const { write, touched, result } of applied) {
      const [own] = await result
      if (own === undefined) throw new Error('the store returned no result')
      this.#record(write, touched, own)
      results.push(own)
    }
    return results
  }

  async claim(request: Parameters<Store['claim']>[0]): Promise<readonly RunRecord[]> {
    const runs = await this.#options.store.claim(request)
    for (const run of runs) this.#stored({ cause: 'claim', run })
    return runs
  }

  async reap(now: number, limit: number): Promise<readonly string[]> {
    const freed = await this.#options.store.reap(now, limit)
    for (const id of freed) {
      const run = this.#options.data.row(id)?.run
      if (run !== undefined) this.#stored({ cause: 'reap', run })
    }
    return freed
  }

  async prune(now: number, limit: number): Promise<number> {
    const { store, data, tracer, process } = this.#options
    const before = Array.from(data.rows(), ({ run }) => run.id)
    const count = await store.prune(now, limit)
    for (const runId of before) {
      if (data.row(runId) === undefined) tracer.add({ type: 'removed', process, cause: 'prune', runId })
    }
    return count
  }

  #apply(write: Write, now: number) {
    const { store, data } = this.#options
    const stateOf = (runId: string): RunRecord | null => data.row(runId)?.run ?? null
    const holds = ({ runId, item }: Possible): boolean => {
      const row = data.row(runId)
      return item !== null && row !== undefined && (row.inbox.has(item.id) || row.consumed.has(item.id))
    }
    const possible = possibleChanges(write).map((change) => {
      return { ...change, before: stateOf(change.runId), held: holds(change) }
    })
    const result = store.commit([write], now)
    const touched = possible.map(({ held, ...change }): Touched => {
      const item = data.row(change.runId)?.inbox.get(change.item?.id ?? '') ?? change.item
      return { ...change, item, after: stateOf(change.runId), arrived: !held && holds(change) }
    })
    return { write, touched, result }
  }

  #record(write: Write, touched: readonly Touched[], result: WriteResult): void {
    const { tracer, process } = this.#options
    const [own, ...others] = touched
    if (own === undefined) return
    const { cause, runId } = own
    const isUnchanged = cause !== 'advance' && own.after === own.before
    if (result.status !== 'ok' || isUnchanged) {
      const why = result.status === 'ok' ? 'unchanged' : result.status
      tracer.add({ type: 'refused', process, cause, runId, why })
      return
    }
    if (cause === 'delete') tracer.add({ type: 'removed', process, cause, runId })
    else if (own.after !== null) this.#own(write, { ...own, cause, after: own.after })
    const arrivals = new Set<string>()
    for (const { cause, before, after, item, arrived } of others) {
      // Of a delivery that depends on whether a cancel wins, both forms are possible, under one id.
      if (item !== null && arrivals.has(item.id)) continue
      if (item !== null) arrivals.add(item.id)
      if (after === null || cause === 'delete' || (item === null ? after === before : !arrived)) continue
      this.#stored({ cause, run: after, item })
    }
  }

  /** What the write says of its own run. */
  #own(write: Write, { cause, after, item }: Touched & { cause: StoreCause; after: RunRecord }): void {
    if (write.type === 'create') this.#stored({ cause, run: after, entries: write.run.entries })
    else if (write.type === 'advance') {
      const { worker, fence, entries, consumed } = write
      this.#stored({ cause, run: after, claim: { worker, fence }, entries, consumed })
    } else this.#stored({ cause, run: after, item })
  }

  #stored(change: {
    readonly cause: StoreCause
    readonly run: RunRecord
    readonly claim?: { readonly worker: string; readonly fence: number }
    readonly entries?: readonly Entry[]
    readonly consumed?: readonly string[]
    readonly item?: InboxItem | null
  }): void {
    const { tracer, process } = this.#options
    const nothing = { claim: null, entries: [], consumed: [], item: null }
    tracer.add({ type: 'stored', process, ...nothing, ...change })
  }
}

/** All that a write may change, its own run first, in the order in which it happens. */
function possibleChanges(write: Write): readonly Possible[] {
  switch (write.type) {
    case 'create':
      return [{ cause: 'create', runId: write.run.id, item: null }]
    case 'deliver':
      return [{ cause: 'deliver', runId: write.runId, item: write.item }]
    case 'control':
      return [{ cause: write.action, runId: write.runId, item: null }]
    case 'advance':
      return [
        { cause: 'advance', runId: write.runId, item: null },
        // Children first: the invariants look for them right behind the advance.
        ...write.children.map(({ run }): Possible => ({ cause: 'create', runId: run.id, item: null })),
        ...[...write.deliveries, ...write.deliveriesIfCancelled].map(({ runId, item }): Possible => {
          return { cause: 'deliver', runId, item }
        }),
        ...write.cancels.map(({ runId }): Possible => ({ cause: 'cancel', runId, item: null })),
      ]
  }
}
