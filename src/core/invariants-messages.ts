/** What must hold for what runs, clients and processes tell each other. */
import { encodeValue } from './codec.ts'
import {
  type Answered,
  Epochs,
  hasOutcome,
  invariant,
  keyOf,
  type Stored,
  type TraceEvent,
} from './invariants-trace.ts'
import { type Entry, type InboxItem, isTerminal, type RunRecord } from './run.ts'

interface Item {
  readonly item: InboxItem
  readonly position: number
}

export const eventReachesItsWait = invariant(
  'an event reaches its wait',
  'A wait does not time out while an event for it lies in the inbox since before the run was claimed.',
  function* (trace) {
    const epochs = new Epochs()
    const inboxes = new Map<string, Map<string, Item>>()
    const due = new Map<string, number>()
    for (const [position, event] of trace.entries()) {
      epochs.take(event, position)
      if (event.type !== 'stored') continue
      const inbox = inboxes.get(event.run.id) ?? new Map<string, Item>()
      inboxes.set(event.run.id, inbox)
      if (event.item !== null) inbox.set(event.item.id, { item: event.item, position })
      for (const id of event.consumed) inbox.delete(id)
      for (const entry of event.entries) {
        const wait = keyOf(event.run.id, entry.key)
        if (entry.dueAt !== null && !due.has(wait)) due.set(wait, entry.dueAt)
        if (entry.kind !== 'event' || entry.value !== NO_EVENT) continue
        const claimed = epochs.positionOf({ runId: event.run.id, fence: event.claim?.fence ?? 0 })
        const missed = [...inbox.values()].find((candidate) => {
          return candidate.position < claimed && isFor(candidate.item, entry, due.get(wait))
        })
        if (missed === undefined) continue
        const message = `${entry.key} of run ${event.run.id} timed out although event ${missed.item.id} was there`
        yield { message, positions: [missed.position, claimed, position] }
      }
    }
  },
)

export const eventIsTakenOnce = invariant(
  'an event is taken once',
  'What was delivered to a run becomes the outcome of one step, never of two.',
  function* (trace) {
    const takers = new Map<string, { readonly by: string; readonly position: number }>()
    for (const [position, event] of trace.entries()) {
      if (event.type !== 'stored') continue
      // A batch whose answer was lost is sent, and applied, again.
      const by = keyOf(...event.entries.map((entry) => entry.key))
      for (const id of event.consumed) {
        const key = keyOf(event.run.id, id)
        const taker = takers.get(key)
        if (taker === undefined) takers.set(key, { by, position })
        else if (taker.by !== by) {
          const message = `item ${id} of run ${event.run.id} was taken twice`
          yield { message, positions: [taker.position, position] }
        }
      }
    }
  },
)

export const childIsStartedOnce = invariant(
  'a child is started once',
  'A step that starts a child run starts one, however often it is executed.',
  function* (trace) {
    const children = new Map<string, number>()
    const parents = new Map<string, RunRecord>()
    for (const [position, event] of trace.entries()) {
      if (event.type !== 'stored') continue
      const { run } = event
      parents.set(run.id, run)
      const parent = parents.get(run.parentId ?? '')
      if (event.cause !== 'create' || parent === undefined) continue
      const key = keyOf(parent.id, parent.epoch, run.parentStep ?? '')
      const first = children.get(key)
      if (first === undefined) children.set(key, position)
      else
        yield {
          message: `step ${run.parentStep} of run ${parent.id} started two children`,
          positions: [first, position],
        }
    }
  },
)

export const childDeliversOnce = invariant(
  'a child delivers once',
  'When a child run ends, its parent is told in the same write, and the parent records just how the child ended.',
  function* (trace) {
    const runs = new Map<string, { readonly event: Stored; readonly position: number }>()
    for (const [position, event] of trace.entries()) {
      if (event.type === 'removed') runs.delete(event.runId)
      if (event.type !== 'stored') continue
      const { run } = event
      const before = runs.get(run.id)?.event.run
      runs.set(run.id, { event, position })
      for (const entry of event.entries) {
        const child = runs.get(entry.childId ?? '')
        if (entry.kind !== 'child' || !hasOutcome(entry) || child === undefined) continue
        // Without a place in the order, it was given up by an interrupt of the parent.
        if (entry.order === null || agrees(entry, child.event.run)) continue
        const message = `step ${entry.key} of run ${run.id} is ${entry.status}, but its child ${child.event.run.status}`
        yield { message, positions: [child.position, position] }
      }
      const parent = runs.get(run.parentId ?? '')
      const ends = isTerminal(run.status) && before !== undefined && !isTerminal(before.status)
      if (!ends || parent === undefined || isTerminal(parent.event.run.status)) continue
      if (isDelivery(deliveryAfter(trace, position), parent.event.run.id, run.id)) continue
      yield {
        message: `run ${run.id} ended as ${run.status} and did not tell its parent`,
        positions: [position],
      }
    }
  },
)

export const answersAreTrue = invariant(
  'answers are true',
  'What a client was told is durable: the run that it started exists, the event lies in the inbox, the cancel is accepted.',
  function* (trace) {
    const facts = new Set<string>()
    for (const [position, event] of trace.entries()) {
      if (event.type === 'stored') for (const fact of factsOf(event)) facts.add(fact)
      if (event.type !== 'answered') continue
      const { answer, call, runId } = event
      const claimed = factClaimed(event)
      if (claimed === null ? !answer.startsWith('UNEXPECTED') : facts.has(claimed)) continue
      const message = `a client was told "${answer}" about ${call} of run ${runId}: the store does not know of it`
      yield { message, positions: [position] }
    }
  },
)

export const shutdownEnds = invariant(
  'a shutdown ends',
  'A process that is closed, and neither dies nor freezes on the way, is closed in the end.',
  function* (trace) {
    if (trace.at(-1)?.type !== 'finished') return
    const closing = new Map<string, number>()
    for (const [position, event] of trace.entries()) {
      if (event.type !== 'process') continue
      if (event.what === 'closing') closing.set(event.process, position)
      if (event.what === 'closed' || event.what === 'crashed') closing.delete(event.process)
    }
    for (const [process, position] of closing) {
      yield { message: `process ${process} was asked to close and never did`, positions: [position] }
    }
  },
)

export const nothingUnhandled = invariant(
  'nothing is left unhandled',
  'No promise of the engine is rejected without anybody looking.',
  function* (trace) {
    for (const [position, event] of trace.entries()) {
      if (event.type === 'unhandled') yield { message: event.error, positions: [position] }
    }
  },
)

/** What a wait that timed out records. */
const NO_EVENT = encodeValue(null, { what: 'no event', maxBytes: 1024 })

/** What a change of a run makes true for ever. */
function factsOf({ run, item }: Stored): string[] {
  const facts = [keyOf('start', run.id), keyOf('result', run.id, run.status)]
  if (run.cancelReason !== null || run.status === 'cancelled') facts.push(keyOf('cancel', run.id))
  if (item !== null) facts.push(keyOf('event', run.id, item.id))
  return facts
}

/** The fact that an answer claims, or `null` if it claims none that lasts. */
function factClaimed({ call, answer, runId, itemId }: Answered): string | null {
  if (call === 'result')
    return isTerminal(answer as RunRecord['status']) ? keyOf('result', runId, answer) : null
  if (answer !== 'ok') return null
  if (call === 'event') return keyOf('event', runId, itemId ?? '')
  return call === 'start' || call === 'cancel' ? keyOf(call, runId) : null
}

function isFor(item: InboxItem, wait: Entry, dueAt: number | undefined): boolean {
  return item.kind === 'event' && item.name === wait.target && item.at <= (dueAt ?? Number.POSITIVE_INFINITY)
}

/** Whether the outcome of a child's step is what the child came to. */
function agrees(entry: Entry, child: RunRecord): boolean {
  if (entry.status === 'succeeded') return child.status === 'completed' && child.output === entry.value
  return child.status === 'failed' || child.status === 'cancelled'
}

/** What follows the write at `position`, beyond the runs that it creates and cancels: its first delivery. */
function deliveryAfter(trace: readonly TraceEvent[], position: number): TraceEvent | undefined {
  return trace.slice(position + 1).find((event) => {
    return event.type !== 'stored' || (event.cause !== 'cancel' && event.cause !== 'create')
  })
}

function isDelivery(event: TraceEvent | undefined, parentId: string, childId: string): boolean {
  if (event?.type !== 'stored' || event.cause !== 'deliver' || event.run.id !== parentId) return false
  return event.item?.kind === 'child' && event.item.payload.includes(childId)
}
