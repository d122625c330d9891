import { type Entry, isTerminal, type RunRecord } from '../../core/run.ts'
import { Heap } from './heap.ts'
import { Lanes } from './lanes.ts'
import type { Row } from './row.ts'

/**
 * What a memory store holds. Give the same one to several stores to model several processes on one
 * database: closing one store then leaves the others, and the data, as they are.
 */
export class MemoryData {
  /** When the lease of each registered worker runs out. */
  readonly leases = new Map<string, number>()
  /** Runs that are `pending` or `waiting` with a due time. */
  readonly lanes = new Lanes()
  /** Ended runs by the end of their retention. */
  readonly ended = new Heap<Row>()

  readonly #rows = new Map<string, Row>()
  /** Workflow, then key. */
  readonly #keys = new Map<string, Map<string, Row>>()
  /** The running runs of each owner. */
  readonly #held = new Map<string, Set<Row>>()
  /** Oldest first; `null` when it must be sorted anew. */
  #sorted: Row[] | null = []
  #seq = 0

  row(id: string): Row | undefined {
    return this.#rows.get(id)
  }

  rowByKey(workflow: string, key: string): Row | undefined {
    return this.#keys.get(workflow)?.get(key)
  }

  rows(): Iterable<Row> {
    return this.#rows.values()
  }

  /** All runs by `createdAt`, then id. */
  oldestFirst(): readonly Row[] {
    this.#sorted ??= [...this.#rows.values()].sort((a, b) => compareAge(a.run, b.run))
    return this.#sorted
  }

  owners(): Iterable<string> {
    return [...this.#held.keys()]
  }

  heldBy(owner: string): readonly Row[] {
    return [...(this.#held.get(owner) ?? [])]
  }

  /** Adds a run whose id and key are known to be free. */
  insert(run: RunRecord, entries: readonly Entry[]): void {
    const row: Row = {
      run,
      entries: new Map(entries.map((entry) => [entry.key, entry])),
      written: new Map(),
      inbox: new Map(),
      consumed: new Set(),
      at: 0,
      seq: this.#seq++,
      place: -1,
    }
    this.#rows.set(run.id, row)
    if (run.key !== null) setIn(this.#keys, run.workflow, run.key, row)
    const newest = this.#sorted?.at(-1)
    if (newest !== undefined && compareAge(newest.run, run) > 0) this.#sorted = null
    this.#sorted?.push(row)
    this.#file(row)
  }

  /** The only way in which a run changes: the indexes follow. */
  replace(row: Row, run: RunRecord): RunRecord {
    this.#unfile(row)
    row.run = run
    this.#file(row)
    return run
  }

  remove(row: Row): void {
    const { id, workflow, key } = row.run
    this.#unfile(row)
    this.#rows.delete(id)
    if (key !== null) deleteIn(this.#keys, workflow, key)
    this.#sorted = null
  }

  /** Puts a run where its state belongs: under its owner, in a lane, among the ended ones, or nowhere. */
  #file(row: Row): void {
    const { status, owner, dueAt, expiresAt } = row.run
    if (status === 'running' && owner !== null) {
      const rows = this.#held.get(owner)
      if (rows === undefined) this.#held.set(owner, new Set([row]))
      else rows.add(row)
    } else if ((status === 'pending' || status === 'waiting') && dueAt !== null) {
      row.at = dueAt
      this.lanes.add(row)
    } else if (isTerminal(status) && expiresAt !== null) {
      row.at = expiresAt
      this.ended.add(row)
    }
  }

  #unfile(row: Row): void {
    const { status, owner } = row.run
    if (status === 'running' && owner !== null) {
      const rows = this.#held.get(owner)
      rows?.delete(row)
      if (rows?.size === 0) this.#held.delete(owner)
    } else if (isTerminal(status)) {
      this.ended.remove(row)
    } else if (row.place !== -1) {
      this.lanes.remove(row)
    }
  }
}

/** Negative if `a` is older than `b`: by `createdAt`, then id. */
export function compareAge(
  a: Pick<RunRecord, 'createdAt' | 'id'>,
  b: Pick<RunRecord, 'createdAt' | 'id'>,
): number {
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt
  if (a.id === b.id) return 0
  return a.id < b.id ? -1 : 1
}

function setIn<V>(map: Map<string, Map<string, V>>, outer: string, inner: string, value: V): void {
  const values = map.get(outer)
  if (values === undefined) map.set(outer, new Map([[inner, value]]))
  else values.set(inner, value)
}

function deleteIn<V>(map: Map<string, Map<string, V>>, outer: string, inner: string): void {
  const values = map.get(outer)
  values?.delete(inner)
  if (values?.size === 0) map.delete(outer)
}
