import { describe, expect, it } from 'vitest'
import type { Store, Write } from '../../src/ports/store.ts'
import { ALL_FAULTS, type StoreWrapper } from '../../src/testing/simulator/index.ts'
import { violatedBy } from './seeds.ts'

describe('the simulator notices', () => {
  it('a store that does not look at fences', async () => {
    const wrapStore: StoreWrapper = (store, data) => {
      return rewriting(store, (write) => {
        const run = write.type === 'advance' ? data.row(write.runId)?.run : undefined
        if (write.type !== 'advance' || run?.owner == null) return write
        return { ...write, worker: run.owner, fence: run.fence }
      })
    }
    // Clocks so far apart that live workers are taken for dead: only the fence is left to keep them apart.
    const faults = { ...ALL_FAULTS, skewMs: 20_000, slow: 0.3 }
    const wanted = 'only the claim advances'
    expect(await violatedBy(wanted, { wrapStore, faults }, 100)).toContain(wanted)
  })

  it('a store that does not count deliveries when a run parks', async () => {
    const wrapStore: StoreWrapper = (store) => {
      return rewriting(store, (write) => {
        if (write.type !== 'advance' || write.to?.status !== 'waiting') return write
        return { ...write, to: { ...write.to, seen: Number.MAX_SAFE_INTEGER } }
      })
    }
    const wanted = 'every run ends'
    expect(await violatedBy(wanted, { wrapStore }, 100)).toContain(wanted)
  })
})

/** The store, with every write changed before it is applied. */
function rewriting(store: Store, rewrite: (write: Write) => Write): Store {
  return { ...store, commit: (writes, now) => store.commit(writes.map(rewrite), now) }
}
