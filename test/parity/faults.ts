import { StoreError } from '../../src/core/errors.ts'
import type { AdvanceWrite, Store, Write } from '../../src/ports/store.ts'
import { type StoreMethod, wrapStore } from '../../src/testing/wrap-store.ts'

/** A call of a store. */
export interface Call {
  readonly method: StoreMethod
  /** Of a commit. */
  readonly writes: readonly Write[]
}

/** `before`: refused, nothing was applied. `after`: applied, but reported as failed. */
export type Fault = 'before' | 'after' | null

/** A store that fails when `decide` says so. */
export function faulty(store: Store, decide: (call: Call) => Fault): Store {
  return wrapStore(store, async (method, call, writes = []) => {
    const fault = decide({ method, writes })
    if (fault === 'before') throw outage()
    const result = await call()
    if (fault === 'after') throw outage()
    return result
  })
}

/** Fails at the first `times` calls for which `when` holds. */
export function failsAt(when: (call: Call) => boolean, fault: Fault, times = 1): (call: Call) => Fault {
  let left = times
  return (call) => {
    if (left === 0 || !when(call)) return null
    left -= 1
    return fault
  }
}

/** Whether a commit carries an entry of this key (and status). */
export function carries(key: string, status?: string): (call: Call) => boolean {
  return ({ writes }) =>
    advances(writes).some(({ entries }) => {
      return entries.some((entry) => entry.key === key && (status === undefined || entry.status === status))
    })
}

/** Whether a commit takes a run to this status. */
export function leadsTo(status: string): (call: Call) => boolean {
  return ({ writes }) => advances(writes).some(({ to }) => to?.status === status)
}

export function advances(writes: readonly Write[]): AdvanceWrite[] {
  return writes.filter((write) => write.type === 'advance')
}

/** A store that does not answer while it is frozen; what was asked meanwhile is done once it thaws. */
export interface Freezable {
  readonly store: Store
  freeze(): void
  thaw(): void
}

export function freezable(store: Store): Freezable {
  let thawed: Promise<void> | null = null
  let release: () => void = () => {}
  return {
    store: wrapStore(store, async (method, call) => {
      if (method !== 'close') await thawed
      return await call()
    }),
    freeze: () => {
      thawed ??= new Promise((resolve) => {
        release = resolve
      })
    },
    thaw: () => {
      release()
      thawed = null
    },
  }
}

/** A store whose process dies at a call: neither this call nor a later one is answered. */
export function dyingAt(store: Store, when: (call: Call) => boolean, side: 'before' | 'after'): Store {
  let dead = false
  return wrapStore(store, async (method, call, writes = []) => {
    if (dead && method !== 'close') return await new Promise<never>(() => {})
    if (method === 'close' || !when({ method, writes })) return await call()
    dead = true
    if (side === 'after') await call()
    return await new Promise<never>(() => {})
  })
}

export function outage(): StoreError {
  return new StoreError('unavailable', 'The store does not answer (a fault of the test).')
}
