import type { RunRecord, Transition } from '../core/run.ts'
import { Lease } from '../engine/lease.ts'
import type { AdvanceWrite, HeldRun } from '../ports/store.ts'
import { type Backing, newRecord } from './backing.ts'
import { PRESENCE } from './ids.ts'

/** A claim on a record, by this process. */
export interface Held {
  readonly id: string
  readonly worker: string
  readonly fence: number
}

/** How long the record of a worker is kept after its end: long enough that whoever asks for it finds that it has ended. */
const PRESENCE_RETENTION_MS = 60 * 60 * 1000
const WAIT_FOR_LEASE_MS = 20

/**
 * What this process holds in the store, under a lease that it renews. Each identity of it is also a record of its own,
 * which it holds as long as it lives: so everybody can ask whether it does.
 */
export class Holdings {
  readonly #backing: Backing
  readonly #lease: Lease
  readonly #leaseMs: number
  readonly #used = new Map<string, Held>()
  #strangers = new Set<string>()
  #started: Promise<void> | null = null
  #announced: Held | null = null
  #announcing: Promise<void> | null = null
  #reapedAt = Number.NEGATIVE_INFINITY

  constructor(backing: Backing, leaseMs: number) {
    this.#backing = backing
    this.#leaseMs = leaseMs
    this.#lease = new Lease({
      store: backing.store,
      env: backing.env,
      leaseMs,
      onHeld: (held) => void this.#giveBackStrangers(held).catch(() => {}),
      onLost: () => {},
    })
  }

  get leaseMs(): number {
    return this.#leaseMs
  }

  /** This process's identity; the store knows that it is alive. */
  async identity(): Promise<string> {
    this.#started ??= this.#start()
    try {
      await this.#started
    } catch (error) {
      this.#started = null
      throw error
    }
    while (!this.#lease.valid) await this.#backing.pause(WAIT_FOR_LEASE_MS)
    while (this.#announced?.worker !== this.#lease.id) {
      this.#announcing ??= this.#announce().finally(() => {
        this.#announcing = null
      })
      await this.#announcing
    }
    return this.#announced.worker
  }

  /** Whether a claim that this process took may still be its own. */
  mayHold({ worker }: Held): boolean {
    return this.#lease.valid && this.#lease.id === worker
  }

  /** Which of these workers are alive. */
  async alive(workers: readonly string[]): Promise<ReadonlySet<string>> {
    const others = [...new Set(workers)].filter((worker) => !this.mayHold({ worker, id: '', fence: 0 }))
    if (others.length > 0) await this.reap()
    const found = await this.#backing.read(others)
    const living = found.flatMap(({ run }) =>
      run?.status === 'running' && run.owner === run.id ? [run.id] : [],
    )
    return new Set([...workers.filter((worker) => !others.includes(worker)), ...living])
  }

  /** Frees what dead workers hold, unless that was done just now. */
  async reap(): Promise<void> {
    const now = performance.now()
    if (now - this.#reapedAt < this.#leaseMs / 10) return
    this.#reapedAt = now
    await this.#backing.persist(() => this.#backing.store.reap(this.#backing.env.now(), 100))
  }

  /** Claims records of a lane, if they are due and in nobody's hands. */
  async claim(workflow: string, version: string, limit = 1): Promise<readonly RunRecord[]> {
    const worker = await this.identity()
    const lane = { workflows: [{ name: workflow, version }], queues: null }
    const claimed = await this.#backing.persist(() =>
      this.#backing.store.claim({ worker, ...lane, limit, now: this.#backing.env.now() }),
    )
    for (const { id, fence } of claimed) this.note({ id, worker, fence })
    return claimed
  }

  /** Says that a claim of this process is used. */
  note(held: Held): void {
    this.#used.set(held.id, held)
  }

  /** The write that lets go of a claim. */
  letGo({ id, worker, fence }: Held, to: Transition): AdvanceWrite {
    this.#used.delete(id)
    return { ...nothingElse, type: 'advance', runId: id, worker, fence, number: 1, to }
  }

  async close(): Promise<void> {
    if (this.#started === null) return
    await this.#started.catch(() => {})
    if (this.#announced !== null)
      await this.#backing.commit([this.letGo(this.#announced, over)]).catch(() => {})
    await this.#lease.end()
  }

  async #start(): Promise<void> {
    await this.#backing.ready()
    await this.#lease.start()
  }

  async #announce(): Promise<void> {
    const id = this.#lease.id
    const dueAt = this.#backing.env.now()
    const draft = {
      id,
      workflow: PRESENCE,
      version: '',
      input: '-1',
      dueAt,
      retention: PRESENCE_RETENTION_MS,
    }
    await this.#backing.commitOne({ type: 'create', run: newRecord(draft), claimedBy: id })
    this.#announced = { id, worker: id, fence: 1 }
    this.note(this.#announced)
    await this.#clearAwayTheDead()
  }

  /** The records of workers that died were freed by whoever reaped; then they are due. */
  async #clearAwayTheDead(): Promise<void> {
    const worker = this.#lease.id
    const now = this.#backing.env.now()
    const lane = { workflows: [{ name: PRESENCE, version: '' }], queues: null }
    const dead = await this.#backing.store.claim({ worker, ...lane, limit: 100, now })
    await this.#backing.commit(dead.map(({ id, fence }) => this.letGo({ id, worker, fence }, over)))
  }

  /** The answer to a claim may be lost. What is held and not used at two heartbeats is handed back. */
  async #giveBackStrangers(held: readonly HeldRun[]): Promise<void> {
    const worker = this.#lease.id
    const strange = held.filter(({ id, fence }) => this.#used.get(id)?.fence !== fence)
    const again = strange.filter(({ id, fence }) => this.#strangers.has(`${id} ${fence}`))
    this.#strangers = new Set(strange.map(({ id, fence }) => `${id} ${fence}`))
    const dueAt = this.#backing.env.now()
    const parked = again.map((run) => {
      const to = { status: 'waiting', dueAt, seen: run.deliveries } as const
      return {
        ...nothingElse,
        type: 'advance' as const,
        runId: run.id,
        worker,
        fence: run.fence,
        number: 1,
        to,
      }
    })
    if (parked.length > 0) await this.#backing.commit(parked)
  }
}

const nothingElse = {
  entries: [],
  progress: false,
  children: [],
  deliveries: [],
  deliveriesIfCancelled: [],
  cancels: [],
  consumed: [],
} as const

/** The end of a record that has no outcome. */
export const over: Transition = { status: 'completed', output: null, error: null, cancelled: '-1' }
