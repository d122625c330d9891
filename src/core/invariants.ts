/**
 * What must hold for every trace, whatever failed while it was made: the promises of this library as named
 * predicates. The simulator checks them on every seed.
 */
import {
  answersAreTrue,
  childDeliversOnce,
  childIsStartedOnce,
  eventIsTakenOnce,
  eventReachesItsWait,
  nothingUnhandled,
  shutdownEnds,
} from './invariants-messages.ts'
import {
  cancelWins,
  dueRunIsClaimed,
  endsOnce,
  everyRunEnds,
  keyIsUnique,
  neverMismatches,
  onlyTheClaimAdvances,
  parkedOnSomething,
} from './invariants-runs.ts'
import {
  atMostOnce,
  doneIsDone,
  effectsWait,
  exactlyOnce,
  orderIsStable,
  outcomeIsFinal,
  sameArguments,
  timersHold,
} from './invariants-steps.ts'
import type { Invariant, Trace, Violation } from './invariants-trace.ts'

export type { Invariant, Trace, TraceEvent, Violation } from './invariants-trace.ts'

/** All invariants. */
export const invariants: readonly Invariant[] = [
  outcomeIsFinal,
  orderIsStable,
  effectsWait,
  exactlyOnce,
  doneIsDone,
  atMostOnce,
  sameArguments,
  timersHold,
  keyIsUnique,
  onlyTheClaimAdvances,
  endsOnce,
  everyRunEnds,
  dueRunIsClaimed,
  parkedOnSomething,
  cancelWins,
  neverMismatches,
  eventReachesItsWait,
  eventIsTakenOnce,
  childIsStartedOnce,
  childDeliversOnce,
  answersAreTrue,
  shutdownEnds,
  nothingUnhandled,
]

/** Checks a trace against all invariants. */
export function checkInvariants(trace: Trace): readonly Violation[] {
  return invariants.flatMap((each) => each.check(trace))
}
