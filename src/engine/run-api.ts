import { encodeValue } from '../core/codec.ts'
import { ClaimLostError, InvalidArgumentError } from '../core/errors.ts'
import { checkName } from '../core/names.ts'
import type { Entry } from '../core/run.ts'
import { checkpointKey } from '../core/step-names.ts'
import { currentBody } from './body-scope.ts'
import type { Execution } from './execution.ts'
import { journalFull } from './journal-limit.ts'
import { newEntry } from './operations/base.ts'
import { Save } from './operations/save.ts'
import { SelfCancel } from './operations/self-cancel.ts'
import type { RunControl } from './workflow.ts'

/** The run, as its own function sees it. */
export class RunApi implements RunControl {
  readonly #execution: Execution
  #saves = 0

  constructor(execution: Execution) {
    this.#execution = execution
  }

  get id(): string {
    return this.#execution.run.id
  }

  get workflow(): string {
    return this.#execution.run.workflow
  }

  get version(): string {
    return this.#execution.run.version
  }

  get key(): string | null {
    return this.#execution.run.key
  }

  get tags(): readonly string[] {
    return this.#execution.run.tags
  }

  get attempt(): number {
    return this.#execution.run.attempt
  }

  get parentId(): string | null {
    return this.#execution.run.parentId
  }

  get checkpoints(): Readonly<Record<string, unknown>> {
    return this.#execution.checkpoints.read()
  }

  async save(patch: Readonly<Record<string, unknown>>): Promise<void> {
    const entries = this.#encode(patch)
    if (this.#execution.isOver)
      throw new ClaimLostError('This worker has lost its claim on the run: nothing was saved.')
    if (currentBody(this.id) !== null) return await this.#saveInBody(entries)
    this.#saves += 1
    const { checkpoints } = this.#execution
    const save = new Save(this.#execution, `#save:${this.#saves}`, entries, checkpoints)
    this.#execution.addSave(save)
    return await save.promise
  }

  cancel(reason = ''): Promise<never> {
    const thrown = this.#execution.conductor.thrown
    if (thrown !== null) return Promise.reject(thrown.reason)
    const operation = new SelfCancel(this.#execution, () => this.#execution.cancel(reason))
    this.#execution.add(operation)
    return operation.promise
  }

  /** A body is not replayed, so its saves have no place in the order of outcomes. */
  async #saveInBody(entries: readonly Entry[]): Promise<void> {
    // What is stored already is not written again: it is no progress either.
    if (!this.#execution.saving && this.#execution.checkpoints.hold(entries)) return
    await this.#execution.durably(entries)
    this.#execution.checkpoints.apply(entries)
  }

  #encode(patch: Readonly<Record<string, unknown>>): Entry[] {
    if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) {
      throw new InvalidArgumentError('run.save takes an object of values by name, e.g. { page: 3 }.')
    }
    const { run, env, config } = this.#execution
    const now = env.now()
    return Object.entries(patch).map(([name, value]) => {
      checkName(name, 'The name of a checkpoint')
      this.#makeRoom(name)
      const encoded = encodeValue(value, { what: `Checkpoint "${name}"`, maxBytes: config.maxValueBytes })
      const entry = newEntry({ key: checkpointKey(name), kind: 'checkpoint', target: null }, run.epoch, now)
      return { ...entry, status: 'succeeded', value: encoded, endedAt: now }
    })
  }

  /** A name that is new takes another entry of the journal. */
  #makeRoom(name: string): void {
    const { checkpoints, conductor, config } = this.#execution
    if (checkpoints.has(name)) return
    conductor.countEntry()
    if (conductor.journalFull) throw journalFull(config)
  }
}
