/** What must hold for steps: their outcomes, the order of them, their bodies. */
import {
  type BodyStarted,
  Epochs,
  type Finding,
  type HandedOut,
  hasOutcome,
  invariant,
  keyOf,
  type Stored,
  type Trace,
} from './invariants-trace.ts'
import type { Entry } from './run.ts'

interface Seen<Value> {
  readonly value: Value
  readonly position: number
}

export const outcomeIsFinal = invariant(
  'an outcome is recorded once',
  'The outcome of a step, and its place in the order, never change once they are recorded; what succeeded keeps its value ' +
    'even when the run starts over.',
  function* (trace) {
    const outcomes = new Map<string, Seen<Entry>>()
    for (const { entry, event, position } of recorded(trace)) {
      if (entry.kind === 'checkpoint') continue
      const key = keyOf(event.run.id, entry.key)
      const before = outcomes.get(key)
      if (hasOutcome(entry)) outcomes.set(key, { value: entry, position })
      if (before === undefined || !isContradiction(before.value, entry)) continue
      const message = `step ${entry.key} of run ${event.run.id} was ${shown(before.value)} and became ${shown(entry)}`
      yield { message, positions: [before.position, position] }
    }
  },
)

export const orderIsStable = invariant(
  'the order of outcomes is stable',
  'Every execution is given the outcomes in the order in which the journal holds them.',
  function* (trace) {
    const epochs = new Epochs()
    const fences = new Map<string, number>()
    const places = new Map<string, Seen<string>>()
    for (const [position, event] of trace.entries()) {
      epochs.take(event, position)
      if (event.type === 'stored') {
        fences.set(event.run.id, event.run.fence)
        for (const { key, kind, epoch, order } of event.entries) {
          // The place that a save writes down is the one it expects; only that of an outcome is for good.
          if (order === null || kind === 'checkpoint') continue
          const place = keyOf(event.run.id, epoch, order)
          yield* taken(places.get(place), key, place, position)
          if (!places.has(place)) places.set(place, { value: key, position })
        }
      }
      // A zombie may go on along a way of its own: what it records is refused.
      if (event.type !== 'handed-out' || fences.get(event.runId) !== event.fence) continue
      const place = keyOf(event.runId, epochs.of(event), event.order)
      yield* taken(places.get(place), event.key, place, position)
    }
  },
)

export const effectsWait = invariant(
  'effects wait for what led to them',
  'No step body starts before every outcome that its execution had been given when it asked for the step is durable.',
  function* (trace) {
    const epochs = new Epochs()
    const durable = new Set<string>()
    /** What an execution was given and is not known to be durable, by process and run. */
    const given = new Map<string, Seen<HandedOut>[]>()
    for (const [position, event] of trace.entries()) {
      epochs.take(event, position)
      if (event.type === 'stored') {
        for (const { key, epoch, order } of event.entries)
          durable.add(keyOf(event.run.id, epoch, order ?? 0, key))
      }
      if (event.type === 'execution-started' && event.how === 'cold')
        given.delete(keyOf(event.process, event.runId))
      // A save has no entry under its own key; what it saved is durable before it resolves.
      if (event.type === 'handed-out' && !event.replayed && !event.key.startsWith('#')) {
        const key = keyOf(event.process, event.runId)
        given.set(key, [...(given.get(key) ?? []), { value: event, position }])
      }
      if (event.type !== 'body-started') continue
      for (const { value, position: from } of given.get(keyOf(event.process, event.runId)) ?? []) {
        const entry = keyOf(event.runId, epochs.of(event), value.order, value.key)
        if (value.order > event.after || durable.has(entry)) continue
        const message = `the body of ${event.key} of run ${event.runId} started before the outcome of ${value.key} was durable`
        yield { message, positions: [from, position] }
      }
    }
  },
)

export const exactlyOnce = invariant(
  'a step without crashes runs once',
  'An attempt of a step is started again only if the execution that started it was lost: its process died, froze or was closed.',
  function* (trace) {
    const starts = new Map<string, Seen<BodyStarted>>()
    for (const { event, position, epoch } of bodies(trace)) {
      const key = keyOf(event.runId, epoch, event.key, event.attempt)
      const first = starts.get(key)
      starts.set(key, { value: event, position })
      if (first === undefined) continue
      if (wasLost(trace, first, position) || wasLost(trace, { value: event, position }, trace.length))
        continue
      const message = `attempt ${event.attempt} of step ${event.key} of run ${event.runId} was started twice`
      yield { message, positions: [first.position, position] }
    }
  },
)

export const doneIsDone = invariant(
  'what is done is not done again',
  'A step whose outcome is durable is not started by an execution that was claimed after that.',
  function* (trace) {
    const epochs = new Epochs()
    const outcomes = new Map<string, number>()
    for (const [position, event] of trace.entries()) {
      epochs.take(event, position)
      if (event.type === 'stored') {
        for (const entry of event.entries) {
          const key = keyOf(event.run.id, entry.epoch, entry.key)
          if (hasOutcome(entry) && !outcomes.has(key)) outcomes.set(key, position)
        }
      }
      if (event.type !== 'body-started') continue
      const done = outcomes.get(keyOf(event.runId, epochs.of(event), event.key))
      if (done === undefined || epochs.positionOf(event) < done) continue
      const message = `step ${event.key} of run ${event.runId} was started although its outcome was recorded`
      yield { message, positions: [done, position] }
    }
  },
)

export const atMostOnce = invariant(
  'at most once',
  'The body of a step that is recorded as running before it starts is started at most once.',
  function* (trace) {
    const guarded = new Set<string>()
    for (const { entry, event } of recorded(trace)) {
      if (entry.kind === 'step' && entry.status === 'running')
        guarded.add(keyOf(event.run.id, entry.epoch, entry.key))
    }
    const starts = new Map<string, number>()
    for (const { event, position, epoch } of bodies(trace)) {
      const key = keyOf(event.runId, epoch, event.key)
      if (!guarded.has(key)) continue
      const first = starts.get(key)
      if (first === undefined) starts.set(key, position)
      else
        yield {
          message: `step ${event.key} of run ${event.runId} was started twice`,
          positions: [first, position],
        }
    }
  },
)

export const sameArguments = invariant(
  'a step is always called the same way',
  'Every attempt of a step has the same arguments in every execution, because all that led to them was durable.',
  function* (trace) {
    const epochs = new Epochs()
    const calls = new Map<string, Seen<string>>()
    for (const [position, event] of trace.entries()) {
      epochs.take(event, position)
      if (event.type !== 'effect') continue
      const key = keyOf(event.runId, epochs.of(event), event.key)
      const first = calls.get(key)
      if (first === undefined) calls.set(key, { value: event.args, position })
      else if (first.value !== event.args) {
        const message = `step ${event.key} of run ${event.runId} was called with ${first.value}, then with ${event.args}`
        yield { message, positions: [first.position, position] }
      }
    }
  },
)

export const timersHold = invariant(
  'timers keep their time',
  'The due time of a sleep or a wait is fixed when it is first recorded, and it does not end earlier.',
  function* (trace) {
    const due = new Map<string, Seen<number>>()
    for (const { entry, event, position } of recorded(trace)) {
      if (entry.kind !== 'sleep' && entry.kind !== 'event') continue
      const key = keyOf(event.run.id, entry.key)
      const first = due.get(key)
      if (entry.dueAt !== null && first === undefined) due.set(key, { value: entry.dueAt, position })
      if (first === undefined) continue
      const moved = entry.dueAt !== null && entry.dueAt !== first.value
      const early = entry.kind === 'sleep' && entry.endedAt !== null && entry.endedAt < first.value
      if (!moved && !early) continue
      const message = `${entry.key} of run ${event.run.id} ${moved ? 'got another due time' : 'ended too early'}`
      yield { message, positions: [first.position, position] }
    }
  },
)

function* recorded(trace: Trace): Iterable<{ entry: Entry; event: Stored; position: number }> {
  for (const [position, event] of trace.entries()) {
    if (event.type !== 'stored') continue
    for (const entry of event.entries) yield { entry, event, position }
  }
}

function* bodies(trace: Trace): Iterable<{ event: BodyStarted; position: number; epoch: number }> {
  const epochs = new Epochs()
  for (const [position, event] of trace.entries()) {
    epochs.take(event, position)
    if (event.type === 'body-started') yield { event, position, epoch: epochs.of(event) }
  }
}

/** Whether a later entry of the same step says something else than the outcome before it. */
function isContradiction(before: Entry, entry: Entry): boolean {
  if (before.epoch === entry.epoch) {
    return before.status !== entry.status || before.value !== entry.value || before.order !== entry.order
  }
  // Before it started over, the run may have come to this name on another way, as something else.
  const same = before.kind === entry.kind && before.target === entry.target && before.kind !== 'interrupt'
  return (
    same && before.status === 'succeeded' && (before.status !== entry.status || before.value !== entry.value)
  )
}

function shown({ status, order, epoch, value }: Entry): string {
  return `${status} (epoch ${epoch}, order ${order}, ${value?.slice(0, 80)})`
}

function* taken(
  holder: Seen<string> | undefined,
  key: string,
  place: string,
  position: number,
): Iterable<Finding> {
  if (holder === undefined || holder.value === key) return
  yield { message: `${place} is ${holder.value} and became ${key}`, positions: [holder.position, position] }
}

/** Whether the execution that started a body was lost before `until`. */
function wasLost(trace: Trace, { value, position }: Seen<BodyStarted>, until: number): boolean {
  for (let next = position + 1; next < until; next += 1) {
    const event = trace[next]
    if (event?.type === 'process' && event.process === value.process) return true
    if (event?.type === 'execution-lost' && event.process === value.process && event.runId === value.runId)
      return true
  }
  return false
}
