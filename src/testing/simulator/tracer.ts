import type { Trace, TraceEvent } from '../../core/invariants.ts'
import type { VirtualTime } from '../virtual-time.ts'

type WithoutTime<Event> = Event extends TraceEvent ? Omit<Event, 'at'> : never

/** Gathers a trace. */
export class Tracer {
  readonly #time: VirtualTime
  readonly #events: TraceEvent[] = []

  constructor(time: VirtualTime) {
    this.#time = time
  }

  get trace(): Trace {
    return this.#events
  }

  /** Adds an event that happens now. */
  add(event: WithoutTime<TraceEvent>): void {
    this.#events.push({ ...event, at: this.#time.now })
  }
}
