import type { Entry, InboxItem } from '../../core/run.ts'

/**
 * What an operation is doing.
 * - `waiting`: on a timer, an event, a child: nothing local goes on, the run may be parked.
 * - `ready`: it could go on here as soon as what came before is durable.
 * - `busy`: something goes on here: a body runs, a checkpoint is on its way to disk.
 * - `offered`: its outcome is in line to be handed to the function.
 */
export type Phase = 'waiting' | 'ready' | 'busy' | 'offered'

/** A durable operation that the function has asked for and whose outcome it has not been given yet. */
export interface Operation {
  readonly key: string
  /** Position among all that this execution was asked for: breaks ties between simultaneous outcomes. */
  readonly asked: number
  readonly phase: Phase
  /** When its timer is due, epoch ms. */
  readonly dueAt: number | null
  /** The event it waits for. */
  readonly event: string | null
  /** Begins, or goes on with, what can be done here now. Called when the replay is over, and at every resume. */
  proceed(): void
  /** Its timer is due. */
  due(now: number): void
  /** Whether an item of its address is for it. */
  accepts(item: InboxItem): boolean
  /** Something was delivered to it. */
  deliver(item: InboxItem): void
  /** The run is interrupted: a waiting operation lets go of what it waits for, a busy one is told to stop. */
  interrupt(reason: unknown): void
  /** Gives the outcome to the function; `null`: done, with nothing to give. */
  settle(entry: Entry | null): void
  /** Rejects towards the function without an outcome of its own: the run was interrupted here. */
  reject(reason: unknown): void
  /** The claim is over: stops what goes on here. The promise is settled only where the contract says so. */
  abandon(reason: unknown): void
}

/** An outcome that can be handed to the function. */
export interface Outcome {
  readonly operation: Operation
  /** The entry that records it; its order is filled in when it is handed out. `null`: it leaves no entry. */
  readonly entry: Entry | null
  /** Inbox items that the entry now holds. */
  readonly consumed: readonly string[]
}
