import { describe, expect, it } from 'vitest'
import { checkInvariants, type Invariant, invariants, type TraceEvent } from './invariants.ts'
import type { Answered, Observed, Stored } from './invariants-trace.ts'
import type { Entry, InboxItem, RunRecord } from './run.ts'

type Fields<Value> = Partial<Value> & Record<string, unknown>

const base = { at: 0, process: 'p' }

function run(fields: Partial<RunRecord> = {}): RunRecord {
  return {
    id: 'r',
    workflow: 'w',
    version: '',
    queue: 'default',
    key: null,
    priority: 0,
    tags: [],
    status: 'running',
    dueAt: null,
    attempt: 1,
    epoch: 1,
    deaths: 0,
    owner: 'o',
    fence: 1,
    deliveries: 0,
    seen: 0,
    cancelReason: null,
    pauseRequested: false,
    pausedFrom: null,
    input: '1',
    output: null,
    error: null,
    parentId: null,
    parentStep: null,
    policy: { retry: null, timeout: null, retention: 1, call: null },
    deadline: null,
    createdAt: 0,
    startedAt: null,
    endedAt: null,
    expiresAt: null,
    ...fields,
  }
}

function entry(fields: Partial<Entry> = {}): Entry {
  return {
    key: 'a',
    kind: 'step',
    status: 'succeeded',
    target: null,
    childId: null,
    epoch: 1,
    order: 1,
    value: '1',
    attempts: [],
    dueAt: null,
    startedAt: 0,
    endedAt: 0,
    ...fields,
  }
}

function item(fields: Partial<InboxItem> = {}): InboxItem {
  return { id: 'i', kind: 'event', name: 'e', payload: '1', at: 5, ...fields }
}

function stored(cause: Stored['cause'], state: Partial<RunRecord> = {}, more: Fields<Stored> = {}): Stored {
  return {
    ...base,
    type: 'stored',
    cause,
    claim: null,
    run: run(state),
    entries: [],
    consumed: [],
    item: null,
    ...more,
  }
}

/** An advance under the claim `o`, fence 1, unless it says otherwise. */
function advance(
  entries: readonly Entry[],
  state: Partial<RunRecord> = {},
  more: Fields<Stored> = {},
): Stored {
  return stored('advance', state, { claim: { worker: 'o', fence: 1 }, entries, ...more })
}

const born = stored('create')
const ended = { status: 'completed', owner: null, output: '1' } as const
const inRun = { ...base, runId: 'r', fence: 1 }

function body(fields: Fields<Observed> = {}): TraceEvent {
  return { ...inRun, type: 'body-started', key: 'a', attempt: 1, after: 0, ...fields } as TraceEvent
}

function handedOut(fields: Fields<Observed> = {}): TraceEvent {
  return { ...inRun, type: 'handed-out', key: 'a', order: 1, replayed: false, ...fields } as TraceEvent
}

function lost(fields: Fields<Observed> = {}): TraceEvent {
  return { ...inRun, type: 'execution-lost', ...fields } as TraceEvent
}

function effect(args: string, fields: Fields<Observed> = {}): TraceEvent {
  return { ...inRun, type: 'effect', key: 'a', args, ...fields } as TraceEvent
}

function proc(what: string, fields: Fields<Observed> = {}): TraceEvent {
  return { ...base, type: 'process', what, ...fields } as TraceEvent
}

function answered(call: Answered['call'], answer: string, fields: Partial<Answered> = {}): TraceEvent {
  return { ...base, type: 'answered', call, runId: 'r', answer, itemId: null, ...fields }
}

function removed(runId = 'r'): TraceEvent {
  return { ...base, type: 'removed', cause: 'prune', runId }
}

const healed: TraceEvent = { ...base, type: 'healed' }
const finished: TraceEvent = { ...base, at: 100_000, type: 'finished' }
const started = (how: 'hot' | 'cold'): TraceEvent => ({ ...inRun, type: 'execution-started', how })
const childRun = { id: 'c', parentId: 'r', parentStep: 'a' } as const
const childEntry = (fields: Partial<Entry> = {}): Entry =>
  entry({ kind: 'child', target: 'w', childId: 'c', ...fields })
const told = stored('deliver', {}, { item: item({ kind: 'child', payload: '{"runId":"c"}' }) })
const waits = (fields: Partial<Entry> = {}): Entry => {
  return entry({
    key: 'e',
    kind: 'event',
    target: 'e',
    status: 'waiting',
    order: null,
    value: null,
    dueAt: 10,
    ...fields,
  })
}
const timedOut = waits({ status: 'succeeded', order: 1, value: '[null]', dueAt: null })
const parked = { status: 'waiting', owner: null } as const

interface Example {
  readonly holds: Readonly<Record<string, readonly TraceEvent[]>>
  readonly violates: Readonly<Record<string, readonly TraceEvent[]>>
}

const examples: Readonly<Record<string, Example>> = {
  'an outcome is recorded once': {
    holds: {
      'the same again, and progress before it': [
        born,
        advance([entry({ status: 'waiting', order: null, value: null })]),
        advance([entry()]),
        advance([entry()]),
      ],
      'checkpoints change': [
        advance([entry({ kind: 'checkpoint' })]),
        advance([entry({ kind: 'checkpoint', value: '2' })]),
      ],
      'what failed is done again after a revive': [
        advance([entry({ status: 'failed' })]),
        advance([entry({ epoch: 2, value: '2' })]),
      ],
      'another way after a revive': [
        advance([entry()]),
        advance([entry({ epoch: 2, kind: 'sleep', value: '2' })]),
      ],
      'another target after a revive': [
        advance([entry()]),
        advance([entry({ epoch: 2, target: 'x', value: '2' })]),
      ],
      'another interrupt after a revive': [
        advance([entry({ kind: 'interrupt' })]),
        advance([entry({ kind: 'interrupt', epoch: 2, value: '2' })]),
      ],
      'a value kept after a revive': [advance([entry()]), advance([entry({ epoch: 2, order: 7 })])],
    },
    violates: {
      'another value': [advance([entry()]), advance([entry({ value: '2' })])],
      'another status': [advance([entry()]), advance([entry({ status: 'waiting', value: null })])],
      'another order': [advance([entry()]), advance([entry({ order: 2 })])],
      'another value after a revive': [advance([entry()]), advance([entry({ epoch: 2, value: '2' })])],
      'begun anew after a revive': [advance([entry()]), advance([entry({ epoch: 2, status: 'failed' })])],
    },
  },
  'the order of outcomes is stable': {
    holds: {
      'a save that did not get the place it expected': [
        born,
        advance([entry({ key: '#save', kind: 'checkpoint', order: 1 })]),
        advance([entry()]),
      ],
      'a replay': [
        born,
        handedOut(),
        advance([entry(), entry({ key: 'v', order: null })]),
        handedOut({ replayed: true }),
      ],
      'a zombie on its own way': [
        born,
        advance([entry()]),
        stored('claim', { fence: 2 }),
        handedOut({ key: 'b' }),
        body(),
      ],
    },
    violates: {
      'two in one place': [born, advance([entry()]), advance([entry({ key: 'b' })])],
      'another one given': [born, advance([entry()]), handedOut({ key: 'b', replayed: true })],
    },
  },
  'effects wait for what led to them': {
    holds: {
      'after the entry': [
        born,
        started('cold'),
        handedOut(),
        advance([entry()]),
        body({ key: 'b', after: 1 }),
      ],
      'asked for before it': [born, handedOut(), body({ key: 'b', after: 0 })],
      'a replay and a save': [
        born,
        handedOut({ replayed: true }),
        handedOut({ key: '#save:1' }),
        body({ after: 2 }),
      ],
      'a new execution': [born, started('hot'), handedOut(), started('cold'), body({ after: 1 })],
      'nothing given': [advance([entry({ order: null })]), body()],
    },
    violates: {
      'before the entry': [
        born,
        handedOut(),
        handedOut({ key: 'x', order: 2 }),
        body({ key: 'b', after: 1 }),
      ],
    },
  },
  'a step without crashes runs once': {
    holds: {
      'other attempts': [born, body(), body({ attempt: 2 })],
      'a process that died': [born, body(), proc('crashed'), body({ process: 'q' })],
      'an execution that was lost': [born, body(), lost(), body()],
      'a zombie': [
        born,
        body({ process: 'q' }),
        body(),
        lost({ runId: 'other' }),
        lost({ process: 'q' }),
        lost(),
      ],
    },
    violates: {
      'twice for no reason': [born, body(), proc('crashed', { process: 'z' }), body({ process: 'q' })],
    },
  },
  'what is done is not done again': {
    holds: {
      'before and after a revive': [
        born,
        body(),
        advance([entry(), entry()]),
        stored('claim', { fence: 2, epoch: 2 }),
        body({ fence: 2 }),
      ],
      'a zombie': [born, advance([entry()]), body()],
      'no outcome yet': [
        born,
        advance([entry({ status: 'waiting' })]),
        stored('claim', { fence: 2 }),
        body({ fence: 2 }),
      ],
    },
    violates: { again: [born, advance([entry()]), stored('claim', { fence: 2 }), body({ fence: 2 })] },
  },
  'at most once': {
    holds: {
      once: [born, advance([entry({ status: 'running' })]), body()],
      'another step': [
        born,
        advance([entry({ status: 'running', key: 'b' }), entry({ kind: 'sleep' })]),
        body({ fence: 9 }),
        body({ fence: 9 }),
      ],
    },
    violates: {
      twice: [born, advance([entry({ status: 'running' })]), body(), proc('crashed'), body({ process: 'q' })],
    },
  },
  'a step is always called the same way': {
    holds: { 'the same': [born, effect('1'), effect('1'), effect('2', { key: 'b' })] },
    violates: { 'something else': [born, effect('1'), effect('2')] },
  },
  'timers keep their time': {
    holds: {
      'a sleep': [
        advance([entry({ kind: 'sleep', status: 'waiting', dueAt: 10 }), entry({ key: 'b' })]),
        advance([entry({ kind: 'sleep', endedAt: 10 })]),
      ],
      'an event before its timeout': [
        advance([waits()]),
        advance([waits({ status: 'succeeded', dueAt: null, endedAt: 5 })]),
      ],
      'a wait without a timeout': [advance([waits({ dueAt: null })])],
    },
    violates: {
      'too early': [
        advance([entry({ kind: 'sleep', status: 'waiting', dueAt: 10, endedAt: null })]),
        advance([entry({ kind: 'sleep', endedAt: 9 })]),
      ],
      'another time': [
        advance([entry({ kind: 'sleep', status: 'waiting', dueAt: 10, endedAt: null })]),
        advance([entry({ kind: 'sleep', status: 'waiting', dueAt: 11, endedAt: null })]),
      ],
    },
  },
  'key is unique': {
    holds: {
      'another key, no key, a key that is free again': [
        stored('create', { key: 'k' }),
        stored('create', { id: 's', key: 'l' }),
        born,
        removed(),
        stored('create', { id: 't', key: 'k' }),
      ],
    },
    violates: { 'two holders': [stored('create', { key: 'k' }), stored('create', { id: 's', key: 'k' })] },
  },
  'only the claim advances': {
    holds: {
      'its claim': [
        born,
        advance([]),
        stored('reap', { status: 'pending', owner: null }),
        stored('claim', { fence: 2 }),
      ],
    },
    violates: {
      'an old fence': [born, stored('claim', { fence: 2 }), advance([])],
      'another worker': [born, advance([], {}, { claim: { worker: 'x', fence: 1 } })],
      'a run that is parked': [stored('create', parked), advance([])],
      'a run that does not exist': [advance([])],
      'a fence that was not raised': [
        stored('create', { status: 'pending', fence: 0, owner: null }),
        stored('claim', { fence: 2 }),
      ],
    },
  },
  'a run ends once': {
    holds: {
      'and is revived': [born, advance([], ended), stored('revive', { status: 'pending', epoch: 2 })],
      'and hears of a child': [born, advance([], ended), stored('deliver', ended)],
    },
    violates: {
      'and goes on': [born, advance([], ended), stored('deliver', { status: 'waiting' })],
      'and ends again': [born, advance([], ended), advance([], ended)],
    },
  },
  'every run ends': {
    holds: {
      'all ended': [born, advance([], ended), finished],
      'a removed one': [born, removed(), finished],
      'not finished yet': [born],
    },
    violates: { 'one did not': [born, finished] },
  },
  'a due run is claimed': {
    holds: {
      'in time': [stored('create', { ...parked, dueAt: 50_000 }), healed, finished],
      'running, or parked without a time': [born, stored('create', { ...parked, id: 's' }), healed, finished],
      'while things fail': [stored('create', { ...parked, dueAt: 0 }), finished],
      'pending and late, but claimed': [
        healed,
        stored('create', { status: 'pending', dueAt: 0, fence: 0 }),
        stored('claim', {}, { at: 1000 }),
      ],
    },
    violates: {
      never: [stored('create', { ...parked, dueAt: 0 }), healed, finished],
      'too late': [
        stored('create', { status: 'pending', dueAt: 0 }),
        healed,
        stored('claim', {}, { at: 70_000 }),
        finished,
      ],
    },
  },
  'parked on something that exists': {
    holds: {
      'an event': [born, advance([waits()]), advance([], parked)],
      'a child of the same write': [
        born,
        advance([childEntry({ status: 'scheduled' })], parked),
        stored('create', childRun),
      ],
      'a child of before': [
        born,
        stored('create', childRun),
        advance([childEntry({ status: 'scheduled' })], parked),
        healed,
      ],
      'a timer': [born, advance([], { ...parked, dueAt: 1 })],
    },
    violates: {
      nothing: [born, advance([waits(), entry({ status: 'waiting' })]), advance([timedOut], parked)],
      'a child that does not exist': [born, advance([childEntry({ status: 'scheduled' })], parked), told],
    },
  },
  'an accepted cancel wins': {
    holds: {
      'it does': [
        stored('cancel', { cancelReason: 'x' }),
        advance([], { status: 'cancelled', cancelReason: 'x' }),
      ],
      'it was never asked for': [born, advance([], ended)],
      'it is revived': [
        stored('cancel', { status: 'cancelled', cancelReason: 'x' }),
        stored('revive', ended),
      ],
    },
    violates: {
      'it completes': [stored('cancel', { cancelReason: 'x' }), advance([], { ...ended, cancelReason: 'x' })],
    },
  },
  'deterministic code never mismatches': {
    holds: {
      'paused by an operator': [
        advance([], { status: 'paused' }),
        stored('pause', { status: 'paused' }),
        advance([]),
      ],
      'paused because of its input': [advance([], { status: 'paused', error: 'INVALID_INPUT' })],
    },
    violates: {
      'paused by the engine': [advance([], { status: 'paused', error: '{"code":"NON_DETERMINISM"}' })],
    },
  },
  'an event reaches its wait': {
    holds: {
      taken: [
        stored('deliver', {}, { item: item() }),
        stored('claim'),
        advance([timedOut], {}, { consumed: ['i'] }),
      ],
      'too late, other name, other kind': [
        advance([waits()]),
        stored('deliver', {}, { item: item({ at: 11 }) }),
        stored('deliver', {}, { item: item({ id: 'j', name: 'x' }) }),
        stored('deliver', {}, { item: item({ id: 'k', kind: 'child' }) }),
        stored('claim'),
        advance([timedOut, waits()]),
      ],
      'after the claim': [stored('claim'), stored('deliver', {}, { item: item() }), advance([timedOut])],
      'a fork of a run in which it timed out': [stored('create', {}, { entries: [timedOut] })],
      'no timeout': [healed, advance([waits(), entry()])],
    },
    violates: {
      'left in the inbox': [
        advance([waits()]),
        stored('deliver', {}, { item: item() }),
        stored('claim'),
        advance([timedOut]),
      ],
      'left by a wait whose time is not known': [
        stored('deliver', {}, { item: item() }),
        born,
        advance([timedOut]),
      ],
    },
  },
  'an event is taken once': {
    holds: {
      'a batch sent again': [
        advance([entry()], {}, { consumed: ['i'] }),
        advance([entry()], {}, { consumed: ['i'] }),
        healed,
      ],
    },
    violates: {
      'by two': [
        advance([entry()], {}, { consumed: ['i'] }),
        advance([entry({ key: 'b' })], {}, { consumed: ['i'] }),
      ],
    },
  },
  'a child is started once': {
    holds: {
      'one per step': [
        born,
        stored('create', childRun),
        stored('create', { ...childRun, id: 'd', parentStep: 'b' }),
        healed,
      ],
      'another one after a revive': [
        born,
        stored('create', childRun),
        stored('revive', { epoch: 2 }),
        stored('create', { ...childRun, id: 'd', parentStep: null }),
      ],
    },
    violates: { two: [born, stored('create', childRun), stored('create', { ...childRun, id: 'd' })] },
  },
  'a child delivers once': {
    holds: {
      'it tells its parent': [
        born,
        stored('create', childRun),
        advance([], { ...childRun, ...ended }),
        told,
        advance([childEntry()]),
      ],
      'it tells its parent after cancelling a child of its own': [
        born,
        stored('create', childRun),
        advance([], { ...childRun, ...ended }),
        stored('cancel', { id: 'grandchild' }),
        told,
      ],
      'a failed one': [
        born,
        stored('create', { ...childRun, status: 'failed' }),
        advance([childEntry({ status: 'failed' })]),
      ],
      'a cancelled one': [
        born,
        stored('create', { ...childRun, status: 'cancelled' }),
        advance([childEntry({ status: 'failed' })]),
      ],
      'given up by its parent': [
        born,
        stored('create', childRun),
        advance([childEntry({ status: 'failed', order: null })]),
      ],
      'no child entry, no outcome, no child': [
        born,
        stored('create', childRun),
        advance([
          entry({ childId: 'c' }),
          childEntry({ status: 'scheduled' }),
          childEntry({ childId: 'x' }),
          childEntry({ childId: null }),
        ]),
      ],
      'a parent that has ended, or is gone': [
        stored('create', ended),
        stored('create', childRun),
        advance([], { ...childRun, ...ended }),
        stored('deliver', { ...childRun, ...ended }),
        removed(),
        stored('create', { ...childRun, id: 'd' }),
        advance([], { ...childRun, id: 'd', ...ended }),
      ],
    },
    violates: {
      'it does not tell': [born, stored('create', childRun), advance([], { ...childRun, ...ended })],
      'another event follows': [
        born,
        stored('create', childRun),
        advance([], { ...childRun, ...ended }),
        born,
      ],
      'another parent is told': [
        born,
        stored('create', childRun),
        advance([], { ...childRun, ...ended }),
        stored('deliver', { id: 's' }),
      ],
      'another item is delivered': [
        born,
        stored('create', childRun),
        advance([], { ...childRun, ...ended }),
        stored('deliver', {}, { item: item() }),
      ],
      'another value': [
        born,
        stored('create', { ...childRun, ...ended, output: '2' }),
        advance([childEntry()]),
      ],
      'a failure of its own': [
        born,
        stored('create', { ...childRun, ...ended }),
        advance([childEntry({ status: 'failed' })]),
      ],
    },
  },
  'answers are true': {
    holds: {
      'they are': [
        born,
        stored('deliver', {}, { item: item() }),
        stored('cancel', { cancelReason: 'x' }),
        advance([], ended),
        answered('start', 'ok'),
        answered('event', 'ok', { itemId: 'i' }),
        answered('cancel', 'ok'),
        answered('result', 'completed'),
        answered('pause', 'ok'),
      ],
      'a cancel that was there before': [stored('create', { status: 'cancelled' }), answered('cancel', 'ok')],
      refusals: [
        answered('start', 'STORE_UNAVAILABLE'),
        answered('result', 'WAIT_TIMEOUT'),
        answered('cancel', 'RUN_STATE'),
      ],
    },
    violates: {
      'no run': [answered('start', 'ok')],
      'no event': [born, answered('event', 'ok')],
      'no cancel': [born, answered('cancel', 'ok')],
      'no end': [born, answered('result', 'failed')],
      'an error that is none of ours': [answered('wake', 'UNEXPECTED: TypeError')],
    },
  },
  'a shutdown ends': {
    holds: {
      'closed or dead': [
        proc('closing'),
        proc('closed'),
        proc('closing', { process: 'q' }),
        proc('crashed', { process: 'q' }),
        finished,
      ],
      'not finished yet': [proc('closing')],
    },
    violates: { 'still closing': [proc('closing'), proc('frozen'), proc('thawed'), finished] },
  },
  'nothing is left unhandled': {
    holds: { nothing: [born] },
    violates: { something: [{ ...base, type: 'unhandled', error: 'x' }] },
  },
}

function each(which: keyof Example): [string, string, Invariant, readonly TraceEvent[]][] {
  return invariants.flatMap((invariant) => {
    return Object.entries(examples[invariant.name]?.[which] ?? {}).map(([what, trace]) => {
      return [invariant.name, what, invariant, trace] as [string, string, Invariant, readonly TraceEvent[]]
    })
  })
}

describe('the invariants', () => {
  it('each have an example that holds and one that does not', () => {
    expect(Object.keys(examples).sort()).toEqual(invariants.map(({ name }) => name).sort())
  })

  it.each(each('holds'))('"%s" holds: %s', (_name, _what, invariant, trace) => {
    expect(invariant.check(trace)).toEqual([])
  })

  it.each(each('violates'))('"%s" is violated: %s', (name, _what, invariant, trace) => {
    const [violation, ...others] = invariant.check(trace)
    expect(violation).toMatchObject({ invariant: name, message: expect.any(String) })
    expect(others).toEqual([])
    for (const position of violation?.positions ?? []) expect(trace[position]).toBeDefined()
  })

  it('are checked together', () => {
    expect(checkInvariants([])).toEqual([])
    expect(checkInvariants([born, finished]).map(({ invariant }) => invariant)).toEqual(['every run ends'])
  })
})
