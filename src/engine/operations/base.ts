import { decodeValue } from '../../core/codec.ts'
import { decodeError } from '../../core/error-codec.ts'
import type { Answer, Asked } from '../../core/replay.ts'
import type { Entry, EntryStatus, InboxItem } from '../../core/run.ts'
import type { ExecutionHost } from '../host.ts'
import type { Operation, Phase } from './operation.ts'

/** What all operations share: a promise, an entry, a phase. */
export abstract class BaseOperation<Output = unknown> implements Operation {
  readonly key: string
  readonly asked: number
  /** What the function awaits. */
  readonly promise: Promise<Output>
  phase: Phase = 'waiting'
  dueAt: number | null = null
  event: string | null = null
  protected readonly host: ExecutionHost
  protected readonly request: Asked
  /** The entry in the journal, once there is one. */
  protected entry: Entry | null = null
  #resolve!: (value: Output) => void
  #reject!: (error: unknown) => void

  constructor(host: ExecutionHost, request: Asked) {
    this.host = host
    this.request = request
    this.key = request.key
    this.asked = host.conductor.nextAsked()
    this.promise = new Promise<Output>((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // A step that fails before it is awaited must not end the process; whoever awaits it still sees the error.
    this.promise.catch(() => {})
  }

  /** Takes in what the journal says of this operation. */
  answer(answer: Answer): void {
    if (answer.type === 'fresh' || answer.type === 'mismatch') return
    this.entry = answer.entry
    if (answer.type === 'recorded') this.phase = 'offered'
    if (answer.type === 'carried') this.offer(this.restamp(answer.entry))
    if (answer.type === 'open') this.reopen(answer.entry)
  }

  /** Goes on with an entry that has no outcome yet. */
  protected reopen(entry: Entry): void {
    this.dueAt = entry.dueAt
    // An entry from before the run started over now belongs to this epoch.
    if (entry.epoch !== this.host.run.epoch) this.write(this.restamp(entry))
  }

  abstract proceed(): void

  due(_now: number): void {}

  accepts(_item: InboxItem): boolean {
    return false
  }

  deliver(_item: InboxItem): void {}

  interrupt(_reason: unknown): void {}

  abandon(_reason: unknown): void {}

  settle(entry: Entry | null): void {
    const value = entry?.value ?? ''
    if (entry?.status === 'failed') this.#reject(decodeError(value))
    else this.resolve(decodeValue(value) as Output)
  }

  reject(reason: unknown): void {
    // Nothing of it may begin any more, e.g. a body that waits for its gate.
    this.phase = 'offered'
    this.#reject(reason)
  }

  protected resolve(value: Output): void {
    this.#resolve(value)
  }

  /** Makes the entry part of the run's next write. */
  protected write(entry: Entry): void {
    this.entry = entry
    this.host.record(entry)
  }

  /** Puts an outcome in line for the function. */
  protected offer(entry: Entry, consumed: readonly string[] = []): void {
    if (this.phase === 'offered') return
    this.phase = 'offered'
    this.dueAt = null
    this.event = null
    this.host.offer({ operation: this, entry, consumed })
  }

  /** The entry with an outcome. */
  protected ended(status: EntryStatus, value: string): Entry {
    return { ...this.current(), status, value, dueAt: null, endedAt: this.host.env.now() }
  }

  /** The entry so far, or a new one. */
  protected current(): Entry {
    return this.entry ?? newEntry(this.request, this.host.run.epoch, this.host.env.now())
  }

  protected restamp(entry: Entry): Entry {
    return { ...entry, epoch: this.host.run.epoch, order: null }
  }
}

/** A journal entry for something that has just begun. */
export function newEntry(request: Asked, epoch: number, now: number): Entry {
  return {
    key: request.key,
    kind: request.kind,
    status: 'waiting',
    target: request.target,
    childId: null,
    epoch,
    order: null,
    value: null,
    attempts: [],
    dueAt: null,
    startedAt: now,
    endedAt: null,
  }
}
