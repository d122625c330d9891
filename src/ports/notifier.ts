/** What engines tell each other. */
export type Hint =
  /** Some run is, or will be, due at this time (epoch ms); 0: now. */
  | { readonly kind: 'due'; readonly at: number }
  /** A run got a delivery or a request while it may be running. */
  | { readonly kind: 'delivered'; readonly runId: string }
  /** A run has ended. */
  | { readonly kind: 'ended'; readonly runId: string }

/**
 * Carries wake-up hints between engines. Losing, delaying or doubling a hint may cost time, never
 * correctness: the store knows what is due, and every worker looks there on its own as well.
 */
export interface Notifier {
  /** Sends hints to all subscribers, also those of other engines. Never throws, never waits. */
  publish(hints: readonly Hint[]): void
  /** Calls `listener` for every batch of hints, its own included. Returns how to stop. */
  subscribe(listener: (hints: readonly Hint[]) => void): () => void
  close(): Promise<void>
}
