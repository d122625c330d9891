import { addTime, parseDuration } from '../core/duration.ts'
import { InvalidArgumentError, RunConflictError, RunNotFoundError } from '../core/errors.ts'
import { checkId, checkKey, checkName, checkTags } from '../core/names.ts'
import type { RunRecord } from '../core/run.ts'
import type { Birth, NewRun } from '../ports/store.ts'
import type { RunHandle, StartOptions } from './api.ts'
import { makeHandle } from './handle.ts'
import { checkPriority, encodeInput, policyOf } from './new-run.ts'
import type { Operator } from './operator.ts'
import { type Definition, parseInput, type Registry } from './registry.ts'
import type { Worker } from './worker.ts'
import type { Workflow } from './workflow.ts'

export interface StarterParts {
  readonly operator: Operator
  readonly registry: Registry
  /** The worker of this engine, if it works. */
  readonly worker: () => Worker | null
}

/** Starts runs. */
export class Starter {
  readonly #parts: StarterParts

  constructor(parts: StarterParts) {
    this.#parts = parts
  }

  async start<Output>(
    target: string | Workflow,
    input: unknown,
    options: StartOptions,
  ): Promise<RunHandle<Output>> {
    const { registry } = this.#parts
    if (typeof options !== 'object' || options === null) {
      throw new InvalidArgumentError('The options of startWorkflow are an object, e.g. { key: "A-1" }.')
    }
    const definition = this.#definition(target, registry)
    const conflict = checkConflict(options.onConflict)
    await parseInput(definition.workflow, input)
    const run = this.#newRun(definition.workflow, input, options)
    return await this.#create(run, conflict, options.id === undefined)
  }

  /** Creates a run, claimed by this process if it can start it at once. */
  async #create<Output>(
    run: NewRun,
    onConflict: 'return' | 'reject' | 'revive',
    isNewId: boolean,
  ): Promise<RunHandle<Output>> {
    const { operator } = this.#parts
    await operator.ready()
    const worker = this.#parts.worker()
    const birth = { run, claimedBy: worker?.reserve(run) ?? null }
    try {
      const result = await operator.submit({ type: 'create', ...birth })
      const existing = result.status === 'existing' ? result.run : null
      if (existing === null || holdsClaim(existing, birth)) worker?.started(birth)
      else worker?.unreserve(birth)
      // A new id that exists was created by this very write, whose answer was lost before it was sent again.
      const isOwn = existing === null || holdsClaim(existing, birth) || (isNewId && existing.id === run.id)
      if (!isOwn) return await this.#found(run, existing, onConflict)
      return makeHandle(operator, run.id, { created: true, inputDiffers: false })
    } catch (error) {
      worker?.unreserve(birth)
      throw error
    }
  }

  /** Starts a new run with a given journal. */
  async fork<Output>(run: NewRun): Promise<RunHandle<Output>> {
    return await this.#create(run, 'reject', false)
  }

  async #found<Output>(
    wanted: NewRun,
    holder: RunRecord,
    onConflict: 'return' | 'reject' | 'revive',
  ): Promise<RunHandle<Output>> {
    const { operator } = this.#parts
    if (holder.workflow !== wanted.workflow) {
      throw new RunConflictError(
        `The id ${JSON.stringify(wanted.id)} belongs to a run of workflow "${holder.workflow}"; choose another.`,
        holder.id,
      )
    }
    if (onConflict === 'reject') {
      const by = holder.id === wanted.id ? 'id' : `key ${JSON.stringify(wanted.key)}`
      const state = `${holder.status}, with ${holder.input === wanted.input ? 'the same' : 'another'} input`
      throw new RunConflictError(
        `Run ${holder.id} of "${holder.workflow}" holds the ${by} (${state}).`,
        holder.id,
      )
    }
    const revivable = holder.status === 'failed' || holder.status === 'cancelled'
    if (onConflict === 'revive' && revivable) {
      const result = await operator.submit({ type: 'control', action: 'revive', runId: holder.id })
      if (result.status === 'missing') throw new RunNotFoundError(holder.id)
    }
    return makeHandle(operator, holder.id, { created: false, inputDiffers: holder.input !== wanted.input })
  }

  #definition(target: string | Workflow, registry: Registry): Definition {
    if (typeof target === 'string') return registry.byName(target)
    if (typeof target?.name !== 'string') {
      throw new InvalidArgumentError('startWorkflow takes a workflow, or the name of one, then its input.')
    }
    const { name: workflow, version } = target
    return registry.of({ workflow, version }) ?? registry.byName(workflow)
  }

  #newRun(workflow: Workflow, input: unknown, options: StartOptions): NewRun {
    const { env, config } = this.#parts.operator
    const key =
      options.key === undefined ? workflow.keyOf(input) : checkKey(options.key, 'The key of a start')
    const delay = options.delay === undefined ? 0 : parseDuration(options.delay, 'The delay of a start')
    return {
      id: options.id === undefined ? env.uuid('run') : checkId(options.id, 'The id of a run'),
      workflow: workflow.name,
      version: workflow.version,
      queue: options.queue === undefined ? workflow.queue : checkName(options.queue, 'A queue'),
      key: key === null ? null : checkKey(key, `The key of a run of "${workflow.name}"`),
      priority: options.priority === undefined ? 0 : checkPriority(options.priority),
      tags: options.tags === undefined ? [] : checkTags(options.tags),
      input: encodeInput(workflow.name, input, config),
      policy: policyOf(workflow, config),
      dueAt: addTime(env.now(), delay),
      parentId: null,
      parentStep: null,
      entries: [],
    }
  }
}

/** Whether the run that exists still holds the claim with which this write created it. */
function holdsClaim(existing: RunRecord, { run, claimedBy }: Birth): boolean {
  const { id, owner, fence } = existing
  return claimedBy !== null && id === run.id && owner === claimedBy && fence === 1
}

function checkConflict(value: unknown): 'return' | 'reject' | 'revive' {
  if (value === undefined) return 'return'
  if (value === 'return' || value === 'reject' || value === 'revive') return value
  throw new InvalidArgumentError(
    `onConflict is 'return', 'reject' or 'revive', not ${JSON.stringify(value)}.`,
  )
}
