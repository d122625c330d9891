import type { RunRecord } from '../../../src/core/run.ts'
import type {
  AdvanceWrite,
  ClaimRequest,
  ControlWrite,
  CreateWrite,
  DeliverWrite,
  Store,
  Write,
  WriteResult,
} from '../../../src/ports/store.ts'
import type { MemoryData } from '../../../src/stores/memory/index.ts'

/** Makes a store that breaks one promise out of one that keeps them all. */
export type Break = (store: Store, data: MemoryData) => Store

interface WriteHooks {
  readonly create?: (write: CreateWrite, data: MemoryData) => CreateWrite
  readonly advance?: (write: AdvanceWrite, data: MemoryData) => AdvanceWrite
  readonly deliver?: (write: DeliverWrite, data: MemoryData) => DeliverWrite
  readonly control?: (write: ControlWrite, data: MemoryData) => ControlWrite
  /** After the write; `before` is the run as it was, if the write names one that exists. */
  readonly after?: (
    write: Write,
    result: WriteResult,
    data: MemoryData,
    before: RunRecord | undefined,
  ) => void
}

/** Tampers with each write before or after it is applied, one at a time, as the contract wants them. */
export function writes(hooks: WriteHooks): Break {
  return (store, data) => ({
    ...store,
    async commit(batch, now) {
      const results: WriteResult[] = []
      for (const write of batch) {
        const before = data.row(write.type === 'create' ? write.run.id : write.runId)?.run
        const result = (await store.commit([tampered(write, hooks, data)], now))[0]
        if (result === undefined) throw new Error('commit returned no result')
        hooks.after?.(write, result, data, before)
        results.push(result)
      }
      return results
    },
  })
}

function tampered(write: Write, hooks: WriteHooks, data: MemoryData): Write {
  switch (write.type) {
    case 'create':
      return hooks.create?.(write, data) ?? write
    case 'advance':
      return hooks.advance?.(write, data) ?? write
    case 'deliver':
      return hooks.deliver?.(write, data) ?? write
    case 'control':
      return hooks.control?.(write, data) ?? write
  }
}

/** Changes fields of a stored run behind the store's back. */
export function patch(data: MemoryData, id: string, fields: (run: RunRecord) => Partial<RunRecord>): void {
  const row = data.row(id)
  if (row !== undefined) data.replace(row, { ...row.run, ...fields(row.run) })
}

/** Lets claims change what they return. */
export function claims(change: (run: RunRecord) => Partial<RunRecord>): Break {
  return (store, data) => ({
    ...store,
    async claim(request) {
      const runs = await store.claim(request)
      for (const run of runs) patch(data, run.id, change)
      return runs.map((run) => data.row(run.id)?.run ?? run)
    },
  })
}

/** Lets claims ask for something else. */
export function requests(change: (request: ClaimRequest, data: MemoryData) => ClaimRequest): Break {
  return (store, data) => ({ ...store, claim: (request) => store.claim(change(request, data)) })
}

/** Takes due runs in this order instead of the store's. */
export function order(compare: (a: RunRecord, b: RunRecord) => number): Break {
  return (store, data) => ({
    ...store,
    async claim(request) {
      const before = new Map([...data.rows()].map(({ run }) => [run.id, run]))
      const was = (run: RunRecord): RunRecord => before.get(run.id) ?? run
      const due = await store.claim({ ...request, limit: 1_000 })
      const runs = [...due].sort((a, b) => compare(was(a), was(b)))
      for (const run of runs.slice(request.limit)) patch(data, run.id, () => was(run))
      return runs.slice(0, request.limit)
    },
  })
}
