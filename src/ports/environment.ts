/** Structured, leveled log. `fields` are plain data. */
export interface Log {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}

/**
 * All that the engine takes from the world beside its store: time, chance, a log. Tests drive virtual time
 * through it; the simulator drives whole fleets.
 */
export interface Environment {
  /** Epoch milliseconds. */
  now(): number
  /**
   * Calls `callback` once, `delayMs` from now, never earlier by the clock of `now()`; any length. Returns how
   * to cancel. `background` timers (heartbeats, polls) do not keep a process alive.
   */
  setTimer(delayMs: number, callback: () => void, options?: { readonly background?: boolean }): () => void
  /** Keeps the process alive until the returned function is called. */
  keepAlive(): () => void
  /** Calls `callback` when all promise reactions that are ready now, and those that follow from them, have run. */
  settled(callback: () => void): void
  /** 0 ≤ x < 1. `scope` says what it is for: a deterministic environment derives the number from it. */
  random(scope: string): number
  /** A new unique id, time-ordered (UUIDv7). `scope` as for `random`. */
  uuid(scope: string): string
  readonly log: Log
}
