import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Store } from '../../src/ports/store.ts'
import { createOf, T } from '../../src/testing/store-suite/fixture.ts'
import { openConnection, openStore, temporaryFolder } from './helpers.ts'
import { cannotMount, mountMemory } from './mount.ts'

const reason = cannotMount()
const mounted = reason === null ? test : test.skip

mounted(
  `refuses what does not fit on a full disk, and goes on when space returns${reason ?? ''}`,
  async () => {
    const folder = await temporaryFolder()
    mountMemory(folder, '4m')
    const path = join(folder, 'work.db')
    const filler = join(folder, 'filler')
    writeFileSync(filler, new Uint8Array(2 * 1024 * 1024))
    const store = openStore(path)
    await store.migrate()

    const { accepted, failure } = await fill(store)
    expect(failure).toMatchObject({ failure: 'full' })
    expect(String(failure)).toContain(path)
    expect(await idsIn(store)).toEqual(accepted)

    rmSync(filler)
    await store.commit([createOf({ id: 'after' })], T)
    expect(await idsIn(store)).toEqual([...accepted, 'after'].sort())
    expect(statSync(`${path}-wal`).size).toBeLessThan(4 * 1024 * 1024)
    const check = (await openConnection(path)).prepare('PRAGMA integrity_check').get()
    expect(check).toMatchObject({ integrity_check: 'ok' })
  },
)

/** Creates runs until the store refuses. Returns those that it said it had kept. */
async function fill(store: Store): Promise<{ accepted: string[]; failure: unknown }> {
  const accepted: string[] = []
  for (let i = 0; i < 1_000; i++) {
    const id = `run-${String(i).padStart(4, '0')}`
    try {
      await store.commit([createOf({ id, input: 'x'.repeat(20_000) })], T)
    } catch (failure) {
      return { accepted, failure }
    }
    accepted.push(id)
  }
  return { accepted, failure: null }
}

async function idsIn(store: Store): Promise<string[]> {
  return (await store.listRuns({ limit: 1_000 })).runs.map(({ id }) => id).sort()
}
