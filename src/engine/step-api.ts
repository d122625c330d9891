import { AsyncResource } from 'node:async_hooks'
import { decodeValue, encodeValue } from '../core/codec.ts'
import { addTime, parseDuration } from '../core/duration.ts'
import { InvalidArgumentError, NestedStepError } from '../core/errors.ts'
import { checkName } from '../core/names.ts'
import { type Answer, type Asked, AT_MOST_ONCE, PATCH_TARGET } from '../core/replay.ts'
import { idempotencyKey, StepNames } from '../core/step-names.ts'
import type { Log } from '../ports/environment.ts'
import { currentBody, insideBody } from './body-scope.ts'
import type { BodyPolicy } from './config.ts'
import type { Execution } from './execution.ts'
import { journalFull } from './journal-limit.ts'
import type { LazyAbort } from './lazy-abort.ts'
import { bodyPolicy, childRun, functionRun } from './new-run.ts'
import { newEntry } from './operations/base.ts'
import { Child } from './operations/child.ts'
import { type Attempt, InlineStep } from './operations/inline-step.ts'
import type { Operation } from './operations/operation.ts'
import { EventWait, Sleep } from './operations/timers.ts'
import type { Registry } from './registry.ts'
import type { ChildOptions, Step, StepContext, StepOptions, Workflow } from './workflow.ts'

type Body = (context: StepContext) => unknown

/** An operation as the function's call makes it. */
type Requested = Operation & { readonly promise: Promise<unknown>; answer(answer: Answer): void }

const DEFAULT_MAP_CONCURRENCY = 10

/** What a body is given. */
class BodyContext implements StepContext {
  readonly runId: string
  readonly stepId: string
  readonly attempt: number
  readonly log: Log
  readonly #abort: LazyAbort

  constructor(identity: StepIdentity, { attempt, abort }: Attempt, log: Log) {
    this.runId = identity.runId
    this.stepId = identity.stepId
    this.attempt = attempt
    this.log = log
    this.#abort = abort
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get idempotencyKey(): string {
    return idempotencyKey(this.runId, this.stepId)
  }
}

interface StepIdentity {
  readonly runId: string
  readonly stepId: string
}

/** The durable operations of one execution: turns calls into operations, by name and in call order. */
export class StepApi implements Step {
  readonly #execution: Execution
  readonly #registry: Registry
  readonly #names = new StepNames()

  constructor(execution: Execution, registry: Registry) {
    this.#execution = execution
    this.#registry = registry
  }

  do<Output>(
    name: string,
    target: Body | string | Workflow,
    third?: unknown,
    fourth?: ChildOptions,
  ): Promise<Output> {
    return this.#attempt(() => {
      if (typeof target === 'function') return this.#inline(name, target, (third ?? {}) as StepOptions)
      if (typeof target === 'string') return this.#remote(name, target, third, fourth ?? {})
      if (typeof target?.keyOf === 'function') return this.#child(name, target, third, fourth ?? {})
      throw new InvalidArgumentError(
        `step.do(${JSON.stringify(name)}, …) takes a function, the name of a registered function, or a workflow.`,
      )
    }) as Promise<Output>
  }

  sleep(name: string, duration: number | string): Promise<void> {
    return this.#attempt(() => {
      const ms = parseDuration(duration, `The duration of sleep "${name}"`)
      return this.#sleep(name, (now) => addTime(now, ms))
    }) as Promise<void>
  }

  sleepUntil(name: string, time: Date | number): Promise<void> {
    return this.#attempt(() => {
      const at = typeof time === 'number' ? time : time?.getTime?.()
      if (typeof at !== 'number' || !Number.isFinite(at)) {
        throw new InvalidArgumentError(`sleepUntil "${name}" takes a valid Date or epoch milliseconds.`)
      }
      return this.#sleep(name, () => addTime(0, Math.max(0, Math.ceil(at))))
    }) as Promise<void>
  }

  waitForEvent<Payload>(name: string, options: { timeout?: number | string } = {}): Promise<Payload | null> {
    return this.#attempt(() => {
      checkName(name, 'The name of an event')
      const { timeout } = options
      const ms = timeout === undefined ? null : parseDuration(timeout, `The timeout of event "${name}"`)
      return this.#ask({ key: this.#next(name), kind: 'event', target: name }, (asked) => {
        return new EventWait(this.#execution, asked, ms)
      })
    }) as Promise<Payload | null>
  }

  async map<Item, Output>(
    name: string,
    items: readonly Item[],
    body: (item: Item, context: StepContext, index: number) => Output | Promise<Output>,
    options: StepOptions & { readonly concurrency?: number } = {},
  ): Promise<Output[]> {
    const { concurrency = DEFAULT_MAP_CONCURRENCY, ...rest } = options
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new InvalidArgumentError(`The concurrency of map "${name}" must be a whole number from 1.`)
    }
    if (typeof body !== 'function')
      throw new InvalidArgumentError(`map "${name}" takes a function of an item.`)
    if (!Array.isArray(items)) throw new InvalidArgumentError(`map "${name}" takes an array of items.`)
    const results: Output[] = new Array(items.length)
    const entries = items.entries()
    let failed = false
    const lane = async (): Promise<void> => {
      // All lanes draw from one iterator, so items start in their order, as lanes become free.
      for (const [index, item] of entries) {
        if (failed) return
        results[index] = await this.do<Output>(
          name,
          (context: StepContext) => body(item, context, index),
          rest,
        )
      }
    }
    const lanes = Array.from({ length: Math.min(concurrency, items.length) }, () => {
      return lane().catch((error: unknown) => {
        failed = true
        throw error
      })
    })
    await Promise.all(lanes)
    return results
  }

  now(): number {
    return this.#value('now', () => this.#execution.env.now())
  }

  random(): number {
    return this.#value('random', (scope) => this.#execution.env.random(scope))
  }

  uuid(): string {
    return this.#value('uuid', (scope) => this.#execution.env.uuid(scope))
  }

  patched(id: string): boolean {
    checkName(id, 'The id of a patch')
    const key = this.#next(`${PATCH_TARGET}:${id}`)
    return this.#recorded({ key, kind: 'value', target: PATCH_TARGET }, () => {
      // A run that passed here before the call was added goes on as it was; nothing is recorded for it.
      return this.#execution.conductor.replaying ? null : { value: true }
    })
  }

  /** The only step of a registered function: its body, attempted as the calling step asked for. */
  callFunction(fn: Body, policy: BodyPolicy): Promise<unknown> {
    return this.#attempt(() => {
      const { parentId, parentStep, id } = this.#execution.run
      return this.#body('call', fn, policy, { runId: parentId ?? id, stepId: parentStep ?? 'call' })
    })
  }

  #inline(name: string, body: Body, options: StepOptions): Requested | Promise<never> {
    const policy = bodyPolicy(options, `step "${name}"`, this.#execution.config)
    const key = this.#next(name)
    return this.#body(key, body, policy, { runId: this.#execution.run.id, stepId: key })
  }

  #body(key: string, body: Body, policy: BodyPolicy, identity: StepIdentity) {
    const { env, run } = this.#execution
    const runId = run.id
    // The body sees the asynchronous context of the call, e.g. a tracing span.
    const scope = new AsyncResource('PerdureStep')
    const bound = (attempt: Attempt): unknown => {
      const context = new BodyContext(identity, attempt, env.log)
      return scope.runInAsyncScope(() => insideBody({ runId, key }, () => body(context)))
    }
    const target = policy.atMostOnce ? AT_MOST_ONCE : null
    return this.#ask({ key, kind: 'step', target }, (asked) => {
      return new InlineStep(this.#execution, asked, bound, policy)
    })
  }

  #remote(name: string, target: string, data: unknown, options: ChildOptions): Requested | Promise<never> {
    checkName(target, `The function of step "${name}"`)
    const known = this.#registry.find(target)
    if (known !== null && known.kind !== 'function') return this.#child(name, known.workflow, data, options)
    const key = this.#next(name)
    const { run, env, config } = this.#execution
    const rest = functionRun(target, data, options, { run, key, now: env.now() }, config)
    return this.#ask({ key, kind: 'child', target }, (asked) => {
      return new Child(this.#execution, asked, (id) => ({ ...rest, id }))
    })
  }

  #child(
    name: string,
    workflow: Workflow,
    input: unknown,
    options: ChildOptions,
  ): Requested | Promise<never> {
    const key = this.#next(name)
    const { run, env, config } = this.#execution
    const rest = childRun(workflow, input, options, { run, key, now: env.now() }, config)
    return this.#ask({ key, kind: 'child', target: workflow.name }, (asked) => {
      return new Child(this.#execution, asked, (id) => ({ ...rest, id }))
    })
  }

  #sleep(name: string, until: (now: number) => number): Requested | Promise<never> {
    return this.#ask({ key: this.#next(name), kind: 'sleep', target: null }, (asked) => {
      return new Sleep(this.#execution, asked, until)
    })
  }

  #next(name: string): string {
    return this.#names.next(checkName(name, 'The name of a step'))
  }

  /** A value that is known at once: from the journal, or made now and recorded. */
  #value<Value>(what: string, make: (scope: string) => Value): Value {
    const key = this.#next(`${what}()`)
    return this.#recorded({ key, kind: 'value', target: what }, () => {
      return { value: make(`${what}:${this.#execution.run.id}:${key}`) }
    })
  }

  #recorded<Value>(asked: Asked, make: () => { value: Value } | null): Value {
    this.#refuseNested(asked.key)
    const answer = this.#execution.lookUp(asked)
    if (answer.type === 'recorded') return decodeValue(answer.entry.value ?? '') as Value
    if (answer.type === 'carried') {
      this.#execution.record({ ...answer.entry, epoch: this.#execution.run.epoch })
      return decodeValue(answer.entry.value ?? '') as Value
    }
    if (answer.type === 'mismatch') throw answer.error
    if (this.#execution.conductor.journalFull) throw journalFull(this.#execution.config)
    const made = make()
    if (made === null) return false as Value
    const now = this.#execution.env.now()
    const value = encodeValue(made.value, { what: asked.key, maxBytes: this.#execution.config.maxValueBytes })
    const entry = newEntry(asked, this.#execution.run.epoch, now)
    this.#execution.record({ ...entry, status: 'succeeded', value, endedAt: now })
    return made.value
  }

  /** Asks the journal, and makes the operation do what follows from the answer. */
  #ask(asked: Asked, make: (asked: Asked) => Requested): Requested | Promise<never> {
    this.#refuseNested(asked.key)
    if (this.#execution.isOver) return never()
    const answer = this.#execution.lookUp(asked)
    if (answer.type === 'mismatch') return never()
    if (answer.type === 'fresh' && this.#execution.conductor.journalFull)
      throw journalFull(this.#execution.config)
    const operation = make(asked)
    this.#execution.add(operation)
    operation.answer(answer)
    return operation
  }

  #refuseNested(key: string): void {
    const body = currentBody(this.#execution.run.id)
    if (body === null) return
    throw new NestedStepError(
      `Step "${key}" is used inside the body of step "${body.key}". Steps cannot be nested: call it between steps, ` +
        'or start a child workflow.',
    )
  }

  /** Misuse becomes a rejection where the step was called, the same on every replay. */
  #attempt(ask: () => Requested | Promise<never>): Promise<unknown> {
    try {
      const asked = ask()
      return asked instanceof Promise ? asked : asked.promise
    } catch (error) {
      const rejected = Promise.reject(error)
      rejected.catch(() => {})
      return rejected
    }
  }
}

/** What a call gets that will never be answered: this execution is over, or its run is paused. */
function never(): Promise<never> {
  return new Promise(() => {})
}
