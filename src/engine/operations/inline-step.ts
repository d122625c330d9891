import { encodeValue } from '../../core/codec.ts'
import { addTime } from '../../core/duration.ts'
import { encodeError } from '../../core/error-codec.ts'
import { StepInterruptedError, StepTimeoutError } from '../../core/errors.ts'
import type { Asked } from '../../core/replay.ts'
import { decideRetry } from '../../core/retry.ts'
import type { AttemptRecord, Entry } from '../../core/run.ts'
import type { BodyPolicy } from '../config.ts'
import type { ExecutionHost } from '../host.ts'
import { LazyAbort } from '../lazy-abort.ts'
import { BaseOperation } from './base.ts'

/** How many failed attempts an entry remembers: the newest. */
const MAX_ATTEMPTS_KEPT = 20

/** What a body is told about its attempt. */
export interface Attempt {
  readonly attempt: number
  readonly abort: LazyAbort
}

/** A step whose body runs here. */
export class InlineStep extends BaseOperation {
  readonly #body: (attempt: Attempt) => unknown
  readonly #policy: BodyPolicy
  /** The attempt that is running. A late result of an earlier one finds another, or none, here. */
  #running: LazyAbort | null = null
  #gated = false
  #cancelTimeout: () => void = () => {}
  #cancelGrace: () => void = () => {}
  /** How many outcomes the function had been given when it asked for this step. */
  readonly #after: number
  /** What was thrown into the run while the body was running. */
  #interrupted: { readonly reason: unknown } | null = null

  constructor(host: ExecutionHost, request: Asked, body: (attempt: Attempt) => unknown, policy: BodyPolicy) {
    super(host, request)
    this.#body = body
    this.#policy = policy
    this.#after = host.conductor.handedOut
    this.phase = 'ready'
  }

  protected override reopen(entry: Entry): void {
    super.reopen(entry)
    if (entry.status === 'running') this.#neverAgain()
    else if (entry.dueAt !== null) this.phase = 'waiting'
  }

  proceed(): void {
    if (this.phase !== 'ready' || this.#gated) return
    if (this.#interrupted !== null) {
      this.#failInterrupted(this.#interrupted.reason)
      return
    }
    if (this.#policy.atMostOnce) this.write({ ...this.current(), status: 'running' })
    this.#gated = true
    this.host.whenDurable(() => {
      this.#gated = false
      if (this.phase === 'ready' && !this.host.holding) this.#start()
    })
  }

  override due(): void {
    if (this.phase !== 'waiting') return
    this.dueAt = null
    this.phase = 'ready'
    this.proceed()
  }

  override interrupt(reason: unknown): void {
    // On a replay: the body was running when the interrupt came, and its worker died. It is not begun again.
    this.#interrupted = { reason }
    const attempt = this.#running
    if (attempt === null) return
    attempt.abort(reason)
    // The body may still succeed, and the function should know. But it is not waited for without end.
    this.#cancelGrace = this.host.env.setTimer(this.host.config.abortGrace, () => {
      if (this.#running === attempt) this.#failed(reason, this.host.env.now())
    })
  }

  override abandon(reason: unknown): void {
    const attempt = this.#running
    this.#attemptOver()
    attempt?.abort(reason)
  }

  /** What the attempt still does is late; its timers must not keep the process alive. */
  #attemptOver(): void {
    this.#running = null
    this.#cancelTimeout()
    this.#cancelGrace()
  }

  #start(): void {
    const abort = new LazyAbort()
    const startedAt = this.host.env.now()
    const attempt = this.#attempts().length === 0 ? 1 : (this.#attempts().at(-1)?.attempt ?? 0) + 1
    this.#running = abort
    this.phase = 'busy'
    this.host.observe({ type: 'body-started', key: this.key, attempt, after: this.#after })
    this.#cancelTimeout = this.#armTimeout(abort, startedAt)
    const settle = (outcome: 'succeeded' | 'failed', finish: () => void): void => {
      const late = this.#running !== abort
      this.host.observe({ type: 'body-ended', key: this.key, attempt, outcome: late ? 'late' : outcome })
      if (!late) finish()
    }
    this.#call({ attempt, abort }).then(
      (value) => settle('succeeded', () => this.#succeeded(value, startedAt)),
      (error: unknown) => settle('failed', () => this.#failed(error, startedAt)),
    )
  }

  async #call(attempt: Attempt): Promise<unknown> {
    return await this.#body(attempt)
  }

  #armTimeout(abort: LazyAbort, startedAt: number): () => void {
    const { timeout } = this.#policy
    if (timeout === null) return () => {}
    return this.host.env.setTimer(timeout, () => {
      if (this.#running !== abort) return
      const error = new StepTimeoutError(
        `An attempt of step "${this.key}" took longer than its ${timeout} ms.`,
      )
      abort.abort(error)
      this.#failed(error, startedAt)
    })
  }

  #succeeded(value: unknown, startedAt: number): void {
    const { maxValueBytes } = this.host.config
    let encoded: string
    try {
      encoded = encodeValue(value, { what: `The result of step "${this.key}"`, maxBytes: maxValueBytes })
    } catch (error) {
      this.#failed(error, startedAt)
      return
    }
    this.#attemptOver()
    this.offer({ ...this.ended('succeeded', encoded), startedAt: this.#firstStart(startedAt) })
  }

  #failed(error: unknown, startedAt: number): void {
    this.#attemptOver()
    if (this.#interrupted !== null) {
      this.#failInterrupted(this.#interrupted.reason)
      return
    }
    const failed = this.#remember(error, startedAt)
    const delayMs = this.#retryDelay(error, failed)
    if (delayMs === null) {
      this.offer({ ...this.ended('failed', encodeError(error)), attempts: failed })
      return
    }
    this.dueAt = addTime(this.host.env.now(), delayMs)
    this.phase = 'waiting'
    this.write({ ...this.current(), status: 'waiting', attempts: failed, dueAt: this.dueAt })
    this.host.touch()
  }

  #failInterrupted(reason: unknown): void {
    this.host.conductor.interruptReached()
    this.offer(this.ended('failed', encodeError(reason)))
  }

  #retryDelay(error: unknown, failed: readonly AttemptRecord[]): number | null {
    const { retry, retryIf } = this.#policy
    const attempt = failed.at(-1)?.attempt ?? 1
    if (retryIf !== null && !wants(retryIf, error)) return null
    const random = this.host.env.random(`retry:${this.key}:${attempt}`)
    const decision = decideRetry({ policy: retry, attempt, error, random })
    return decision.retry ? decision.delayMs : null
  }

  #remember(error: unknown, startedAt: number): readonly AttemptRecord[] {
    const earlier = this.#attempts()
    const attempt = (earlier.at(-1)?.attempt ?? 0) + 1
    const record = { attempt, startedAt, endedAt: this.host.env.now(), error: encodeError(error) }
    return [...earlier, record].slice(-MAX_ATTEMPTS_KEPT)
  }

  /** The failed attempts of this epoch. */
  #attempts(): readonly AttemptRecord[] {
    return this.entry?.attempts ?? []
  }

  #firstStart(startedAt: number): number {
    return this.#attempts()[0]?.startedAt ?? startedAt
  }

  #neverAgain(): void {
    const error = new StepInterruptedError(
      `Step "${this.key}" is at-most-once and its worker was lost while its body ran: whether it took effect is ` +
        'unknown. Find out, then decide in a catch.',
    )
    this.offer(this.ended('failed', encodeError(error)))
  }
}

/** Whether the user's predicate wants another attempt; a predicate that throws does not. */
function wants(retryIf: (error: unknown) => boolean, error: unknown): boolean {
  try {
    return retryIf(error)
  } catch {
    return false
  }
}
