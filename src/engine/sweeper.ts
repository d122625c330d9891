import type { Environment } from '../ports/environment.ts'
import type { Notifier } from '../ports/notifier.ts'
import type { Store } from '../ports/store.ts'
import { type Repeated, repeat } from './repeat.ts'

export interface SweeperOptions {
  readonly store: Store
  readonly env: Environment
  readonly notifier: Notifier
  readonly leaseMs: number
}

const SWEEP_LIMIT = 500
const PRUNE_INTERVAL_MS = 60_000

/** Frees the runs of dead workers, and tells all workers that something is due. Returns their ids. */
export async function reap({
  store,
  env,
  notifier,
}: Omit<SweeperOptions, 'leaseMs'>): Promise<readonly string[]> {
  const freed = await store.reap(env.now(), SWEEP_LIMIT)
  if (freed.length > 0) {
    env.log.warn('took over the runs of dead workers', { runs: freed.length })
    notifier.publish([{ kind: 'due', at: 0 }])
  }
  return freed
}

/** What every worker does for all: frees the runs of dead workers, and prunes what is past its retention. */
export class Sweeper {
  readonly #options: SweeperOptions
  readonly #loops: readonly Repeated[]

  constructor(options: SweeperOptions) {
    this.#options = options
    const { env, leaseMs } = options
    const reap = { firstMs: 0, onErrorMs: leaseMs / 2 }
    const prune = { firstMs: PRUNE_INTERVAL_MS * this.#jitter('prune'), onErrorMs: PRUNE_INTERVAL_MS }
    this.#loops = [
      repeat(env, 'reaping', () => this.#reap(), reap),
      repeat(env, 'pruning', () => this.#prune(), prune),
    ]
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()))
  }

  async #reap(): Promise<number> {
    const { leaseMs } = this.#options
    const freed = await reap(this.#options)
    return freed.length === SWEEP_LIMIT ? 0 : (leaseMs / 3) * this.#jitter('reap')
  }

  async #prune(): Promise<number> {
    const { store, env } = this.#options
    const pruned = await store.prune(env.now(), SWEEP_LIMIT)
    return pruned === SWEEP_LIMIT ? 10 : PRUNE_INTERVAL_MS * this.#jitter('prune')
  }

  /** 0.5 to 1: workers that were started together shall not all look at the same time. */
  #jitter(what: string): number {
    return 0.5 + this.#options.env.random(what) / 2
  }
}
