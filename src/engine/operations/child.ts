import { describe } from '../../core/describe.ts'
import { decodeError, encodeError } from '../../core/error-codec.ts'
import { ChildCancelledError } from '../../core/errors.ts'
import { cancellation } from '../../core/lifecycle.ts'
import type { Asked } from '../../core/replay.ts'
import type { ChildOutcome, InboxItem } from '../../core/run.ts'
import type { NewRun } from '../../ports/store.ts'
import type { ExecutionHost } from '../host.ts'
import { BaseOperation } from './base.ts'

/** A child run, or a registered function that any worker calls: both are runs that report to this step. */
export class Child extends BaseOperation {
  readonly #make: (id: string) => NewRun

  constructor(host: ExecutionHost, request: Asked, make: (id: string) => NewRun) {
    super(host, request)
    this.#make = make
  }

  proceed(): void {
    if (this.entry !== null) return
    const run = this.#make(this.host.env.uuid(`child:${this.host.run.id}:${this.key}`))
    // The entry and the run that it names are created by one write.
    this.host.addChild({ run, claimedBy: this.host.reserve(run) })
    this.write({ ...this.current(), status: 'scheduled', childId: run.id })
  }

  /** The end of a child that this step started in an earlier epoch is not for it. */
  override accepts(item: InboxItem): boolean {
    const outcome: ChildOutcome = JSON.parse(item.payload)
    return outcome.runId === this.entry?.childId
  }

  override deliver(item: InboxItem): void {
    const outcome: ChildOutcome = JSON.parse(item.payload)
    const { attempts } = outcome
    if (outcome.status === 'completed') {
      this.offer({ ...this.ended('succeeded', outcome.value), attempts }, [item.id])
      return
    }
    const error = outcome.status === 'cancelled' ? this.#cancelled(outcome) : outcome.value
    this.offer({ ...this.ended('failed', error), attempts }, [item.id])
  }

  override interrupt(reason: unknown): void {
    const childId = this.entry?.childId
    // On a replay the entry says already what became of it.
    if (this.phase !== 'waiting' || childId === null || childId === undefined) return
    const why = `its parent was interrupted: ${describe(reason)}`
    const error = encodeError(cancellation(why))
    this.host.addCancel({ runId: childId, reason: why, error })
    // If this run starts over, it shall start another child.
    this.write(this.ended('failed', error))
  }

  #cancelled(outcome: ChildOutcome): string {
    const why = describe(decodeError(outcome.value))
    return encodeError(
      new ChildCancelledError(`Child run ${outcome.runId} was cancelled (${why})`, outcome.runId),
    )
  }
}
