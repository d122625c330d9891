import { randomUUID } from 'node:crypto'
import type { InboxItem, RunRecord } from '../core/run.ts'
import type { RunJournal } from '../ports/store.ts'
import type { Backing } from './backing.ts'
import { decode, encode } from './values.ts'

/** An event in the log of a record. */
export interface Logged<Event> {
  readonly event: Event
  /** Its place in the log, from 1. */
  readonly number: number
  /** Epoch ms; later than that of the event before, whatever the clocks of the machines say. */
  readonly at: number
}

/** What a log is about, and how its events add up to a state. */
export interface Kind<State, Event> {
  /** The workflow under which its records are kept. */
  readonly workflow: string
  fold(record: RunRecord, events: readonly Logged<Event>[]): State
}

export interface Appended<State> {
  /** With the event, if one was written. */
  readonly state: State
  /** The number of the event; `null` if there was nothing to write, or the record has ended. */
  readonly number: number | null
}

/**
 * The inboxes of a kind of records, as logs that only grow. The id of an item is its number, and a store takes each id
 * once: so whoever has seen n events and writes number n + 1 knows that nobody has written since.
 */
export class Ledger<State, Event> {
  readonly #backing: Backing
  readonly #kind: Kind<State, Event>

  constructor(backing: Backing, kind: Kind<State, Event>) {
    this.#backing = backing
    this.#kind = kind
  }

  async read(id: string): Promise<State | null> {
    const [state] = await this.readAll([id])
    return state ?? null
  }

  /** The states of those that exist, in the given order. */
  async readAll(ids: readonly string[]): Promise<readonly State[]> {
    const journals = await this.#backing.read(ids)
    return journals.flatMap((journal) => {
      const log = this.#logOf(journal)
      return log === null ? [] : [this.#kind.fold(log.record, log.events)]
    })
  }

  /**
   * Writes the event that `decide` makes of the state, if any. If somebody else was faster, it is asked again with what
   * has become of the state. `null` if there is no such record.
   */
  async append(
    id: string,
    decide: (state: State) => Event | null | Promise<Event | null>,
  ): Promise<Appended<State> | null> {
    const nonce = randomUUID()
    for (;;) {
      const journal = await this.#backing.readOne(id)
      const log = journal === null ? null : this.#logOf(journal)
      if (log === null) return null
      const own = log.events.find(({ nonce: other }) => other === nonce)
      const state = this.#kind.fold(log.record, log.events)
      // The answer to an earlier attempt was lost; the event was not.
      if (own !== undefined) return { state, number: own.number }
      const event = await decide(state)
      if (event === null) return { state, number: null }
      const last = log.events.at(-1)
      const at = Math.max(this.#backing.env.now(), (last?.at ?? 0) + 1)
      const logged = { event, number: (last?.number ?? 0) + 1, at, nonce }
      const result = await this.#backing.commitOne({
        type: 'deliver',
        runId: id,
        item: this.#itemOf(logged),
      })
      if (result.status === 'ok') {
        return { state: this.#kind.fold(log.record, [...log.events, logged]), number: logged.number }
      }
      if (result.status === 'refused') return { state, number: null }
    }
  }

  #logOf({ run, inbox }: RunJournal): Log<Event> | null {
    // Ids come from outside: there may be a record of another kind behind one.
    if (run?.workflow !== this.#kind.workflow) return null
    const events = inbox.flatMap(({ id, payload, at }) => {
      const number = Number(id)
      // Anybody may send an event to a run; what has no number is not from here.
      return Number.isInteger(number) ? [{ ...decode<Written<Event>>(payload), number, at }] : []
    })
    return { record: run, events: events.sort((a, b) => a.number - b.number) }
  }

  #itemOf({ event, number, at, nonce }: LoggedBy<Event>): InboxItem {
    const payload = encode({ event, nonce } satisfies Written<Event>, `An event of a ${this.#kind.workflow}`)
    return { id: String(number), kind: 'event', name: this.#kind.workflow, payload, at }
  }
}

interface Written<Event> {
  readonly event: Event
  /** Says whose it is, when the answer to its write was lost. */
  readonly nonce: string
}

type LoggedBy<Event> = Logged<Event> & Written<Event>

interface Log<Event> {
  readonly record: RunRecord
  readonly events: readonly LoggedBy<Event>[]
}
