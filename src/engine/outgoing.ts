import type { Entry, RunRecord, Transition } from '../core/run.ts'
import { LAST_SAVE_KEY } from '../core/step-names.ts'
import type { AdvanceWrite, Birth, RunState, Write, WriteResult } from '../ports/store.ts'
import type { Committer, WriteSource } from './committer.ts'
import type { Ending } from './ending.ts'
import { WriteBuffer } from './write-buffer.ts'

export interface OutgoingParts {
  readonly committer: Committer
  /** The run as it is claimed. */
  readonly run: () => RunRecord
  /** Entries are durable; the run goes on. */
  readonly onWritten: () => void
  /** The transition is durable. */
  readonly onLeft: (state: RunState | null, ending: Ending | null) => void
  /** The write was refused, or given up. */
  readonly onRefused: (reason: string) => void
  readonly onBorn: (birth: Birth) => void
  readonly onUnborn: (birth: Birth) => void
}

/** The way out of an execution: gathers what it records, and at last the transition, into fenced writes. */
export class Outgoing implements WriteSource {
  readonly #parts: OutgoingParts
  readonly buffer = new WriteBuffer()
  #transition: Transition | null = null
  #ending: Ending | null = null
  /** Whether the write that is on its way, or was last, carries the transition. */
  #taken = false
  #births: readonly Birth[] = []
  /** How many writes of this claim have left. */
  #number = 0
  #closed = false

  constructor(parts: OutgoingParts) {
    this.#parts = parts
  }

  /** Whether the transition has left: it cannot be taken back. */
  get taken(): boolean {
    return this.#taken
  }

  /** Whether the execution leaves the run for good. */
  get isEnding(): boolean {
    return this.#ending !== null
  }

  /** Sends what was recorded. */
  flush(): void {
    if (this.buffer.dirty) this.#parts.committer.enlist(this)
  }

  /** Sends the transition, with what was recorded. Without an `ending` the execution only parks. */
  leave(transition: Transition, ending: Ending | null): void {
    this.#transition = transition
    this.#ending = ending
    this.#parts.committer.enlist(this)
  }

  /** Takes a parking back that has not left yet. */
  stay(): void {
    this.#transition = null
  }

  /** Begins anew after the run was claimed again. */
  reopen(): void {
    this.#transition = null
    this.#taken = false
    this.#number = 0
  }

  /** Forgets what was not sent. */
  discard(): void {
    for (const birth of this.buffer.discard()) this.#parts.onUnborn(birth)
  }

  /** Sends nothing more. */
  close(): void {
    this.#closed = true
    this.discard()
  }

  take(): Write | null {
    if (this.#closed || (this.#transition === null && !this.buffer.dirty)) return null
    this.#taken = this.#transition !== null
    const changes = this.buffer.take()
    this.#births = changes.children
    const run = this.#parts.run()
    const write: AdvanceWrite = {
      type: 'advance',
      runId: run.id,
      worker: run.owner ?? '',
      fence: run.fence,
      number: ++this.#number,
      entries: changes.entries,
      progress: run.deaths > 0 && changes.entries.some(isProgress),
      children: changes.children,
      deliveries: this.#ending?.deliveries ?? [],
      deliveriesIfCancelled: this.#ending?.deliveriesIfCancelled ?? [],
      cancels: changes.cancels,
      consumed: changes.consumed,
      to: this.#transition,
    }
    return write
  }

  done(result: WriteResult): void {
    const births = this.#births
    this.#births = []
    if (result.status !== 'ok') {
      this.#refused(births, reasonOf(result))
      return
    }
    for (const birth of births) if (birth.claimedBy !== null) this.#parts.onBorn(birth)
    if (this.#closed) return
    this.buffer.committed()
    if (this.#taken) this.#parts.onLeft(result.run, this.#ending)
    else this.#parts.onWritten()
  }

  failed(error: unknown): void {
    const births = this.#births
    this.#births = []
    this.#refused(births, `The store cannot take the run's writes: ${String(error)}`)
  }

  patient(): boolean {
    return !this.#closed
  }

  #refused(births: readonly Birth[], reason: string): void {
    for (const birth of births) this.#parts.onUnborn(birth)
    this.#parts.onRefused(reason)
  }
}

/** Whether an entry brings the run on: an outcome, or a checkpoint. That a body was begun again does not. */
function isProgress({ key, status }: Entry): boolean {
  return key !== LAST_SAVE_KEY && (status === 'succeeded' || status === 'failed')
}

function reasonOf(result: WriteResult): string {
  if (result.status === 'error') return `The store cannot take the run's write: ${result.message}`
  return 'The claim on the run is over: another worker, or an operator, has it.'
}
