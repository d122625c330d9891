import { encodeValue } from '../../core/codec.ts'
import { addTime } from '../../core/duration.ts'
import type { Asked } from '../../core/replay.ts'
import type { InboxItem } from '../../core/run.ts'
import type { ExecutionHost } from '../host.ts'
import { BaseOperation } from './base.ts'

const NOTHING = encodeValue(undefined, { what: 'nothing', maxBytes: 1024 })
const NO_EVENT = encodeValue(null, { what: 'no event', maxBytes: 1024 })

/** `step.sleep` and `step.sleepUntil`. The first due time that was recorded is the one that counts. */
export class Sleep extends BaseOperation<void> {
  readonly #until: (now: number) => number

  constructor(host: ExecutionHost, request: Asked, until: (now: number) => number) {
    super(host, request)
    this.#until = until
  }

  proceed(): void {
    if (this.entry !== null) return
    this.dueAt = this.#until(this.host.env.now())
    this.write({ ...this.current(), dueAt: this.dueAt })
  }

  override due(): void {
    this.offer(this.ended('succeeded', NOTHING))
  }
}

/** `step.waitForEvent`. */
export class EventWait extends BaseOperation {
  readonly #timeout: number | null

  constructor(host: ExecutionHost, request: Asked, timeout: number | null) {
    super(host, request)
    this.#timeout = timeout
    this.event = request.target
  }

  proceed(): void {
    if (this.entry !== null) return
    this.dueAt = this.#timeout === null ? null : addTime(this.host.env.now(), this.#timeout)
    this.write({ ...this.current(), dueAt: this.dueAt })
  }

  override due(): void {
    this.offer(this.ended('succeeded', NO_EVENT))
  }

  /** An event that came after the timeout is for the next wait. */
  override accepts(item: InboxItem): boolean {
    return this.dueAt === null || item.at <= this.dueAt
  }

  override deliver(item: InboxItem): void {
    this.offer(this.ended('succeeded', item.payload), [item.id])
  }
}
