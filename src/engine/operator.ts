import { encodeValue } from '../core/codec.ts'
import { encodeError } from '../core/error-codec.ts'
import {
  InvalidArgumentError,
  RunNotFoundError,
  RunStateError,
  UnserializableValueError,
} from '../core/errors.ts'
import { cancellation } from '../core/lifecycle.ts'
import { checkId, checkName } from '../core/names.ts'
import type { Environment } from '../ports/environment.ts'
import type { ControlWrite, Store, Write, WriteResult } from '../ports/store.ts'
import type { Committer } from './committer.ts'
import type { EngineConfig } from './config.ts'
import type { Waiters } from './waiters.ts'

/** How long a caller waits for a store that does not take writes. The write may be repeated safely. */
const GIVE_UP_MS = 5_000

export interface OperatorParts {
  readonly store: Store
  readonly env: Environment
  readonly config: EngineConfig
  readonly committer: Committer
  readonly waiters: Waiters
  /** Resolves when the store is ready; rejects if it cannot be used. */
  readonly ready: () => Promise<void>
}

/** What anybody may do with runs from outside. */
export class Operator {
  readonly store: Store
  readonly env: Environment
  readonly config: EngineConfig
  readonly waiters: Waiters
  readonly ready: () => Promise<void>
  readonly #committer: Committer

  constructor({ store, env, config, committer, waiters, ready }: OperatorParts) {
    this.store = store
    this.env = env
    this.config = config
    this.waiters = waiters
    this.ready = ready
    this.#committer = committer
  }

  /** Makes one write on behalf of a caller. Rejects after a while if the store does not take it. */
  async submit(write: Write): Promise<WriteResult> {
    await this.ready()
    const result = await this.#committer.submit(write, this.env.now() + GIVE_UP_MS)
    if (result.status === 'error') {
      throw new UnserializableValueError(`The store cannot take this: ${result.message}`)
    }
    return result
  }

  async cancel(runId: string, reason = ''): Promise<void> {
    if (typeof reason !== 'string') throw new InvalidArgumentError('The reason of a cancel is a text.')
    const error = encodeError(cancellation(reason))
    await this.#control({ type: 'control', action: 'cancel', runId, reason, error })
  }

  async pause(runId: string): Promise<void> {
    await this.#control({ type: 'control', action: 'pause', runId })
  }

  async resume(runId: string): Promise<void> {
    await this.#control({ type: 'control', action: 'resume', runId })
  }

  async revive(runId: string): Promise<void> {
    await this.#control({ type: 'control', action: 'revive', runId })
  }

  async wake(runId: string): Promise<void> {
    await this.#control({ type: 'control', action: 'wake', runId })
  }

  async delete(runId: string): Promise<void> {
    await this.#control({ type: 'control', action: 'delete', runId })
  }

  async sendEvent(runId: string, name: string, payload: unknown, options: { id?: string }): Promise<void> {
    checkId(runId, 'The id of a run')
    checkName(name, 'The name of an event')
    const { maxValueBytes } = this.config
    const encoded = encodeValue(payload, { what: `The payload of event "${name}"`, maxBytes: maxValueBytes })
    const given = options.id === undefined ? null : checkId(options.id, 'The id of an event')
    // Ids that callers choose and ids that are made here live in separate spaces.
    const id = given === null ? `#${this.env.uuid(`event:${runId}`)}` : `=${given}`
    const item = { id, kind: 'event', name, payload: encoded, at: this.env.now() } as const
    const result = await this.submit({ type: 'deliver', runId, item })
    if (result.status === 'missing') throw new RunNotFoundError(runId)
    if (result.status === 'refused') {
      throw new RunStateError(`Run ${runId} is ${result.runStatus}; it takes no more events.`)
    }
  }

  async #control(write: ControlWrite): Promise<void> {
    checkId(write.runId, 'The id of a run')
    const result = await this.submit(write)
    if (result.status === 'missing') throw new RunNotFoundError(write.runId)
    if (result.status === 'refused') {
      throw new RunStateError(
        `Run ${write.runId} is ${result.runStatus}; it cannot be asked to ${write.action}.`,
      )
    }
  }
}
