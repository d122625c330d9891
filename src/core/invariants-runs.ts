/** What must hold for runs: their claims, their states, their ends. */
import { hasOutcome, invariant, keyOf, type Stored, type Trace, type TraceEvent } from './invariants-trace.ts'
import { isTerminal } from './run.ts'

/** The last known state of every run, and where the trace says so. */
type States = Map<string, { readonly event: Stored; readonly position: number }>

/** A due run must be claimed within this time once nothing fails any more. Bodies take seconds. */
const CLAIMED_WITHIN_MS = 60_000

export const keyIsUnique = invariant(
  'key is unique',
  'Of all retained runs of a workflow, at most one holds a key.',
  function* (trace) {
    const holders = new Map<string, { readonly runId: string; readonly position: number }>()
    for (const [position, event] of trace.entries()) {
      if (event.type === 'removed') {
        for (const [key, holder] of holders) if (holder.runId === event.runId) holders.delete(key)
      }
      if (event.type !== 'stored' || event.cause !== 'create' || event.run.key === null) continue
      const key = keyOf(event.run.workflow, event.run.key)
      const holder = holders.get(key)
      if (holder === undefined) holders.set(key, { runId: event.run.id, position })
      else {
        const message = `run ${event.run.id} was created although run ${holder.runId} holds the key ${key}`
        yield { message, positions: [holder.position, position] }
      }
    }
  },
)

export const onlyTheClaimAdvances = invariant(
  'only the claim advances',
  'A run is advanced only by the worker and under the fence of its latest claim, and every claim raises the fence by one.',
  function* (trace) {
    for (const { event, position, before } of changes(trace)) {
      const { run, claim, cause } = event
      const positions = before === null ? [position] : [before.position, position]
      if (cause === 'claim' && before !== null && run.fence !== before.event.run.fence + 1) {
        yield { message: `a claim of run ${run.id} did not raise its fence by one`, positions }
      }
      if (claim === null) continue
      const held = before?.event.run
      if (held?.status === 'running' && held.owner === claim.worker && held.fence === claim.fence) continue
      const now = held === undefined ? 'does not exist' : `is ${held.status}, fence ${held.fence}`
      yield {
        message: `run ${run.id} was advanced by ${event.process} under fence ${claim.fence}, but it ${now}`,
        positions,
      }
    }
  },
)

export const endsOnce = invariant(
  'a run ends once',
  'The status of a run that has ended changes no more, unless it is revived.',
  function* (trace) {
    for (const { event, position, before } of changes(trace)) {
      if (before === null || !isTerminal(before.event.run.status) || event.cause === 'revive') continue
      // One that may be revived still takes what its children came to.
      if (event.cause === 'deliver' && event.run.status === before.event.run.status) continue
      const message = `run ${event.run.id} was ${before.event.run.status} and became ${event.run.status} by ${event.cause}`
      yield { message, positions: [before.position, position] }
    }
  },
)

export const everyRunEnds = invariant(
  'every run ends',
  'When nothing fails any more and time runs on, every accepted run ends.',
  function* (trace) {
    if (trace.at(-1)?.type !== 'finished') return
    for (const { event, position } of lastStates(trace).values()) {
      const { id, workflow, status, dueAt } = event.run
      if (isTerminal(status)) continue
      yield { message: `run ${id} of ${workflow} is still ${status}, due ${dueAt}`, positions: [position] }
    }
  },
)

export const dueRunIsClaimed = invariant(
  'a due run is claimed',
  'Once nothing fails any more, a run that is due is claimed within a minute.',
  function* (trace) {
    const healed = trace.find((event) => event.type === 'healed')?.at
    if (healed === undefined) return
    const overdue = (event: Stored, until: number): boolean => {
      const { status, dueAt } = event.run
      if ((status !== 'pending' && status !== 'waiting') || dueAt === null) return false
      return until - Math.max(dueAt, healed, event.at) > CLAIMED_WITHIN_MS
    }
    for (const { event, position, before } of changes(trace)) {
      if (before === null || !overdue(before.event, event.at)) continue
      yield { message: `run ${event.run.id} was due and left alone`, positions: [before.position, position] }
    }
    const end = trace.length - 1
    const endedAt = Math.max(...trace.slice(end).map((event) => event.at))
    for (const { event, position } of lastStates(trace).values()) {
      if (!overdue(event, endedAt)) continue
      yield { message: `run ${event.run.id} is due and left alone`, positions: [position, end] }
    }
  },
)

export const parkedOnSomething = invariant(
  'parked on something that exists',
  'A run that waits without a due time waits for an event or for a child that exists.',
  function* (trace) {
    const open = new Map<string, Map<string, string | null>>()
    const runs = new Set<string>()
    for (const [position, event] of trace.entries()) {
      if (event.type !== 'stored') continue
      const { run } = event
      if (event.cause === 'create') runs.add(run.id)
      const waits = open.get(run.id) ?? new Map<string, string | null>()
      open.set(run.id, waits)
      for (const entry of event.entries) {
        if (hasOutcome(entry)) waits.delete(entry.key)
        else if (entry.kind === 'event' || entry.kind === 'child') waits.set(entry.key, entry.childId)
      }
      if (run.status !== 'waiting' || run.dueAt !== null || event.cause !== 'advance') continue
      // A child that the same write creates is in the trace right behind it.
      const made = childrenBehind(trace, position)
      const exists = [...waits.values()].some((id) => id === null || runs.has(id) || made.has(id))
      if (!exists) yield { message: `run ${run.id} waits for nothing`, positions: [position] }
    }
  },
)

export const cancelWins = invariant(
  'an accepted cancel wins',
  'A run whose cancellation was accepted ends as cancelled.',
  function* (trace) {
    for (const { event, position, before } of changes(trace)) {
      const { status, id } = event.run
      if (before === null || before.event.run.cancelReason === null || event.cause === 'revive') continue
      if (!isTerminal(status) || status === 'cancelled') continue
      const message = `run ${id} was asked to cancel and ended as ${status}`
      yield { message, positions: [before.position, position] }
    }
  },
)

export const neverMismatches = invariant(
  'deterministic code never mismatches',
  'A run whose code has not changed is never paused because its code asks for other steps than its journal holds.',
  function* (trace) {
    for (const { event, position } of changes(trace)) {
      const { status, error, id, workflow } = event.run
      if (event.cause !== 'advance' || status !== 'paused') continue
      if (error?.includes('NON_DETERMINISM') !== true) continue
      yield { message: `run ${id} of ${workflow} was paused: ${error.slice(0, 600)}`, positions: [position] }
    }
  },
)

interface Change {
  readonly event: Stored
  readonly position: number
  /** The run's previous change. */
  readonly before: { readonly event: Stored; readonly position: number } | null
}

/** Every change of a run with the one before it. */
function* changes(trace: Trace): Iterable<Change> {
  const states: States = new Map()
  for (const [position, event] of trace.entries()) {
    const before = event.type === 'stored' ? (states.get(event.run.id) ?? null) : null
    take(states, event, position)
    if (event.type === 'stored') yield { event, position, before }
  }
}

function lastStates(trace: Trace): States {
  const states: States = new Map()
  for (const [position, event] of trace.entries()) take(states, event, position)
  return states
}

function take(states: States, event: TraceEvent, position: number): void {
  if (event.type === 'stored') states.set(event.run.id, { event, position })
  if (event.type === 'removed') states.delete(event.runId)
}

function childrenBehind(trace: Trace, position: number): ReadonlySet<string | null> {
  const made = new Set<string | null>()
  for (let next = position + 1; ; next += 1) {
    const event = trace[next]
    if (event?.type !== 'stored' || event.cause !== 'create') return made
    made.add(event.run.id)
  }
}
