import type { Environment } from '../ports/environment.ts'
import type { HeldRun, Store } from '../ports/store.ts'
import { type Repeated, repeat } from './repeat.ts'

export interface LeaseOptions {
  readonly store: Store
  readonly env: Environment
  readonly leaseMs: number
  /** What the store says this worker holds, after each renewal. */
  readonly onHeld: (held: readonly HeldRun[]) => void
  /** The lease is over, or about to be: stop all that is executing. A new identity follows. */
  readonly onLost: () => void
}

/**
 * A worker's promise to be alive: one row in the store, renewed three times per lease. A worker that cannot renew
 * stops its executions by itself before the lease runs out, and comes back under a new identity: an identity is never
 * used again once it may have been reaped.
 */
export class Lease {
  readonly #options: LeaseOptions
  #id = ''
  #registered = false
  #ended = false
  #until = 0
  #beats: Repeated | null = null
  #cancelGuard: () => void = () => {}

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#renewIdentity()
  }

  /** The worker's identity while this lease lasts. */
  get id(): string {
    return this.#id
  }

  /** Whether runs may be claimed under it. */
  get valid(): boolean {
    return this.#registered && this.#options.env.now() < this.#until
  }

  /** Registers the worker and keeps its lease, until `end`. Rejects if the store cannot be reached. */
  async start(): Promise<void> {
    await this.#beat()
    if (this.#ended) return
    const { env, leaseMs } = this.#options
    this.#beats = repeat(env, 'heartbeat', () => this.#beat(), {
      firstMs: leaseMs / 3,
      onErrorMs: leaseMs / 10,
    })
  }

  /** Looks at what is held now instead of at the next beat. */
  beatNow(): void {
    this.#beats?.now()
  }

  /** Stops renewing, and takes the worker's row away so that nobody waits for it. */
  async end(): Promise<void> {
    this.#ended = true
    await this.#beats?.stop()
    this.#cancelGuard()
    const { store, env } = this.#options
    this.#registered = false
    await store.heartbeat({ id: this.#id, leaseMs: 0, register: false }, env.now())
  }

  async #beat(): Promise<number> {
    const { store, env, leaseMs, onHeld } = this.#options
    const id = this.#id
    const sentAt = env.now()
    const { alive, held } = await store.heartbeat({ id, leaseMs, register: !this.#registered }, sentAt)
    if (id !== this.#id) return 0
    if (!alive) {
      this.#lose()
      return 0
    }
    this.#registered = true
    // Counted from before the call: the store may have heard of it at any time since.
    this.#until = sentAt + leaseMs
    this.#guard()
    onHeld(held)
    return leaseMs / 3
  }

  /** Stops everything a tenth of the lease before it runs out, unless it is renewed by then. */
  #guard(): void {
    this.#cancelGuard()
    if (this.#ended) return
    const { env, leaseMs } = this.#options
    const delay = Math.max(0, this.#until - leaseMs / 10 - env.now())
    this.#cancelGuard = env.setTimer(delay, () => this.#lose(), { background: true })
  }

  #lose(): void {
    const { env, onLost } = this.#options
    env.log.warn('the lease is lost: stopping what is executing', { worker: this.#id })
    this.#cancelGuard()
    this.#registered = false
    this.#renewIdentity()
    onLost()
    this.#beats?.now()
  }

  #renewIdentity(): void {
    this.#id = this.#options.env.uuid('worker')
  }
}
