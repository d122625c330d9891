import { randomUUID } from 'node:crypto'
import { type Backing, newRecord } from './backing.ts'
import { type Held, type Holdings, over } from './holdings.ts'
import { LOCK, lockId } from './ids.ts'
import { Turns } from './turns.ts'
import { encode } from './values.ts'

const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 500

/** Calls until there is an answer, with pauses that grow and differ. */
export async function untilFree<Value>(
  backing: Backing,
  attempt: () => Promise<Value | null>,
): Promise<Value> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.7, LONGEST_PAUSE_MS)) {
    const value = await attempt()
    if (value !== null) return value
    await backing.pause(pause * (0.5 + backing.env.random('lock') / 2))
  }
}

/**
 * Locks by name. A lock is a record that its holder has claimed: it holds as long as the holder renews its lease, frees
 * itself when the holder dies, and occupies no connection.
 */
export class Locks {
  readonly #backing: Backing
  readonly #holdings: Holdings
  readonly #turns = new Turns()

  constructor(backing: Backing, holdings: Holdings) {
    this.#backing = backing
    this.#holdings = holdings
  }

  async with<Value>(name: readonly string[], call: () => Promise<Value>): Promise<Value> {
    const id = lockId(...name)
    return await this.#turns.take(id, async () => {
      const held = await untilFree(this.#backing, () => this.#take(id))
      try {
        return await call()
      } finally {
        await this.#release(held)
      }
    })
  }

  async #take(id: string): Promise<Held | null> {
    const worker = await this.#holdings.identity()
    const input = encode(randomUUID(), 'A lock')
    const dueAt = this.#backing.env.now()
    const run = newRecord({ id, workflow: LOCK, version: id, input, dueAt, retention: 0 })
    const result = await this.#backing.commitOne({ type: 'create', run, claimedBy: worker })
    // Whoever finds its own input has created it, and only did not hear of it.
    const isOwn = result.status === 'ok' || (result.status === 'existing' && result.run.input === input)
    if (!isOwn) return await this.#takeOver(id)
    const held = { id, worker, fence: 1 }
    this.#holdings.note(held)
    return held
  }

  /** From a holder that died. */
  async #takeOver(id: string): Promise<Held | null> {
    await this.#holdings.reap()
    const [claimed] = await this.#holdings.claim(LOCK, id)
    return claimed?.owner ? { id, worker: claimed.owner, fence: claimed.fence } : null
  }

  /** What cannot be released is handed back with a later heartbeat. */
  async #release(held: Held): Promise<void> {
    const end = this.#holdings.letGo(held, over)
    const remove = { type: 'control', action: 'delete', runId: held.id } as const
    await this.#backing.commit([end, remove]).catch(() => {})
  }
}
