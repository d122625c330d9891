// The numbers of the demo.

/** Worker processes at any time. */
export const WORKERS = 3

/** How many runs each worker executes at the same time. */
export const RUNS_PER_WORKER = 2

/**
 * How soon the runs of a dead worker are free for others. The default of the engine, 15 seconds, is calmer: a process
 * that is only slow for a moment should not lose its runs.
 */
export const LEASE_MS = 1500

/** The processes have nothing but the store to tell them of new work, so each asks it this often. */
export const POLL_INTERVAL_MS = 50
