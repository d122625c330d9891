/** What a system is to the benchmark. */
export interface System {
  readonly name: string
  readonly title: string
  /** The package that tells its version; null: Perdure itself. */
  readonly npm: string | null
  readonly server: 'postgres' | 'mongo' | 'redis' | 'redis-always' | 'restate' | null
  /** The Perdure to compare it with: the one on the same kind of store. */
  readonly beside: string | null
  readonly settings: readonly Setting[]
  /** Workloads that it is not measured with, and why. */
  readonly lacks: Readonly<Record<string, string>>
  readonly guarantees: Guarantees
  open(options: OpenOptions): Promise<Client>
}

export interface Setting {
  readonly name: string
  readonly kind: 'recommended' | 'fastest' | 'recommended and fastest'
  readonly note: string
  /** How a run is waited for: see drive.mjs. */
  readonly wait: 'result' | 'recorded'
  /** Takes the server from elsewhere than the system says. */
  readonly server?: System['server']
  /** The long workloads that are measured in this setting. */
  readonly long: readonly string[]
}

export interface Guarantees {
  readonly flushed: string
  readonly steps: string
  readonly once: string
  readonly needs: string
}

export interface OpenOptions {
  readonly setting: Setting
  readonly place: Readonly<Record<string, string>>
  /** `starter` starts runs and executes none; `worker` executes as soon as `work` is called. */
  readonly role: 'all' | 'starter' | 'worker'
  ended?(i: number): void
  onStep?(): void
}

export interface Client {
  /** Resolves when the system has accepted the run. */
  start(kind: 'steps' | 'sleep' | 'job', input: { i: number; steps?: number; ms?: number }): Promise<unknown>
  /** Waits for the end of a run in the system's own way. */
  result?(handle: unknown): Promise<unknown>
  /** How many runs are recorded as done. */
  count?(): Promise<number>
  /** Commits so far, where no server counts them. */
  commits?(): number
  work?(): Promise<void>
  readonly jobsOnly?: boolean
  close(): Promise<void>
}
