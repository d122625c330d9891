/** The seeded simulator: a fleet of processes on one store, in virtual time, with everything that can go wrong. */
export type { Invariant, Trace, TraceEvent, Violation } from '../../core/invariants.ts'
export { checkInvariants, invariants } from '../../core/invariants.ts'
export { ALL_FAULTS, type Faults, NO_FAULTS } from './faults.ts'
export type { StoreWrapper } from './fleet.ts'
export { formatTrace, formatViolations } from './report.ts'
export { type Simulation, type SimulationOptions, simulate } from './simulate.ts'
