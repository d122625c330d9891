import type { Dice } from './dice.ts'

/** What may go wrong in a simulation. Shares are probabilities per call, from 0 to 1. */
export interface Faults {
  /** Store calls that fail without effect. */
  readonly failsBefore: number
  /** Store calls that take effect and then fail: the answer is lost. */
  readonly answerLost: number
  /** Commits and heartbeats that are applied twice. */
  readonly appliedTwice: number
  /** Store calls that take long. */
  readonly slow: number
  /** How long a slow call takes at most, in ms. */
  readonly slowMs: number
  /** Store calls at which the process dies, before or after the call took effect. */
  readonly diesAtCall: number
  /** Hints that are lost; as many are late, or come twice. */
  readonly hintsLost: number
  /** How far a process's clock is off the shared time at most, in ms. */
  readonly skewMs: number
  /** Processes that die, at most so many. */
  readonly crashes: number
  /** Processes that freeze, some past their lease, and wake as zombies; at most so many. */
  readonly freezes: number
  /** Processes that are shut down in an orderly way, at most so many. */
  readonly shutdowns: number
  /** Requests of operators: cancel, pause, resume, revive, wake; at most so many. */
  readonly requests: number
}

/** All that can go wrong. */
export const ALL_FAULTS: Faults = {
  failsBefore: 0.05,
  answerLost: 0.05,
  appliedTwice: 0.05,
  slow: 0.1,
  slowMs: 3000,
  diesAtCall: 0.01,
  hintsLost: 0.2,
  skewMs: 50,
  crashes: 5,
  freezes: 4,
  shutdowns: 3,
  requests: 12,
}

/** Nothing fails, and nobody interferes. */
export const NO_FAULTS: Faults = {
  failsBefore: 0,
  answerLost: 0,
  appliedTwice: 0,
  slow: 0,
  slowMs: 0,
  diesAtCall: 0,
  hintsLost: 0,
  skewMs: 0,
  crashes: 0,
  freezes: 0,
  shutdowns: 0,
  requests: 0,
}

/**
 * The faults of one simulation: each kind at a strength of its own, and some kinds not at all. A bug that one kind
 * of fault would hide behind another thus gets simulations in which the other does not happen.
 */
export function chooseFaults(dice: Dice, most: Faults): Faults {
  const strength = (): number => (dice.chance(0.35) ? 0 : dice.next())
  return {
    failsBefore: most.failsBefore * strength(),
    answerLost: most.answerLost * strength(),
    appliedTwice: most.appliedTwice * strength(),
    slow: most.slow * strength(),
    slowMs: most.slowMs * strength(),
    diesAtCall: most.diesAtCall * strength(),
    hintsLost: most.hintsLost * strength(),
    skewMs: most.skewMs * strength(),
    crashes: Math.round(most.crashes * strength()),
    freezes: Math.round(most.freezes * strength()),
    shutdowns: Math.round(most.shutdowns * strength()),
    requests: Math.round(most.requests * strength()),
  }
}
