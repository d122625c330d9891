/** The reference store: the plainest reading of the contract in `ports/store.ts`, in this process's memory. */
import { StoreError } from '../../core/errors.ts'
import type { Store, Write, WriteResult } from '../../ports/store.ts'
import { advance } from './advance.ts'
import { claim, nextDue } from './claim.ts'
import { control } from './control.ts'
import { create } from './create.ts'
import { MemoryData } from './data.ts'
import { deliver } from './deliver.ts'
import { heartbeat, reap } from './leases.ts'
import { prune } from './prune.ts'
import { journal, listRuns, stats } from './reads.ts'

export { MemoryData } from './data.ts'

/** Options of {@link memory}. */
export interface MemoryOptions {
  /** What messages call the store; `memory` by default. */
  readonly name?: string
  /** The data to work on; fresh by default. Share it to model several processes on one database. */
  readonly data?: MemoryData
}

/**
 * A store that keeps everything in this process's memory: for tests, for trying things out, and for work
 * that may be lost when the process ends. Several engines may share one.
 *
 * Each call does all its work before it returns its promise, so calls never interleave and each one is
 * atomic. That is the whole of its locking.
 *
 * @example
 * const engine = createEngine({ store: memory(), workflows: [order] })
 *
 * @example Two processes on one database, the first of which goes away:
 * const data = new MemoryData()
 * const first = memory({ data })
 * const second = memory({ data })
 * await first.close()
 */
export function memory({ name = 'memory', data = new MemoryData() }: MemoryOptions = {}): Store {
  let closed = false
  const open = (): MemoryData => {
    if (closed) throw new StoreError('unavailable', `The store ${name} is closed. Create a new one to go on.`)
    return data
  }
  return {
    name,
    async migrate() {
      open()
      return []
    },
    async commit(writes, now) {
      const target = open()
      return writes.map((write) => apply(target, write, now))
    },
    async claim(request) {
      return claim(open(), request)
    },
    async journal(runIds, { entries }) {
      const source = open()
      return runIds.map((id) => journal(source, id, entries))
    },
    async heartbeat(worker, now) {
      return heartbeat(open(), worker, now)
    },
    async reap(now, limit) {
      return reap(open(), now, limit)
    },
    async nextDue(request) {
      return nextDue(open(), request)
    },
    async getRun(id) {
      return open().row(id)?.run ?? null
    },
    async listRuns(filter) {
      return listRuns(open(), filter)
    },
    async stats() {
      return stats(open())
    },
    async prune(now, limit) {
      return prune(open(), now, limit)
    },
    async close() {
      closed = true
    },
  }
}

function apply(data: MemoryData, write: Write, now: number): WriteResult {
  switch (write.type) {
    case 'create':
      return create(data, write, now)
    case 'advance':
      return advance(data, write, now)
    case 'deliver':
      return deliver(data, write, now)
    case 'control':
      return control(data, write, now)
  }
}
