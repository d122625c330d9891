import type { StandardSchemaV1 } from '@standard-schema/spec'
import { decodeValue } from '../core/codec.ts'
import {
  DuplicateWorkflowError,
  InvalidArgumentError,
  InvalidInputError,
  UnknownWorkflowError,
} from '../core/errors.ts'
import { checkName } from '../core/names.ts'
import type { RunRecord } from '../core/run.ts'
import type { WorkflowVersion } from '../ports/store.ts'
import { DEFAULT_QUEUE } from './define.ts'
import type { RegisteredFunction, Workflow } from './workflow.ts'

/** What a run executes: a workflow, or a registered function. */
export type Executable =
  | { readonly kind: 'workflow'; readonly workflow: Workflow; readonly call: NonNullable<Workflow['call']> }
  | { readonly kind: 'function'; readonly workflow: Workflow; readonly fn: RegisteredFunction }

/** What a run can be started of; what is only declared, other engines execute. */
export type Definition = Executable | { readonly kind: 'declared'; readonly workflow: Workflow }

/** What an engine knows, by name and version. */
export class Registry {
  readonly #definitions = new Map<string, Definition>()
  readonly #newest = new Map<string, Definition>()

  constructor(workflows: readonly Workflow[], functions: Readonly<Record<string, RegisteredFunction>>) {
    if (!Array.isArray(workflows)) throw new InvalidArgumentError('`workflows` is a list of workflows.')
    for (const workflow of workflows) this.addWorkflow(workflow)
    for (const [name, fn] of Object.entries(functions)) this.#addFunction(name, fn)
  }

  /** All names and versions: what a worker may claim. */
  get versions(): readonly WorkflowVersion[] {
    return [...this.#definitions.values()]
      .filter(({ kind }) => kind !== 'declared')
      .map(({ workflow: { name, version } }) => ({ name, version }))
  }

  /** Adds a workflow. One that was only declared gets its function this way. */
  addWorkflow(workflow: Workflow): void {
    const call: unknown = workflow?.call
    if ((typeof call !== 'function' && call !== null) || typeof workflow.keyOf !== 'function') {
      throw new InvalidArgumentError('`workflows` takes what defineWorkflow returns.')
    }
    if (workflow.call === null) this.#declare(workflow)
    else this.#add({ kind: 'workflow', workflow, call: workflow.call })
  }

  /** Changes nothing if the workflow is known. */
  #declare(workflow: Workflow): void {
    const known = this.of({ workflow: workflow.name, version: workflow.version })
    if (known === null || known.kind === 'function') this.#add({ kind: 'declared', workflow })
  }

  #addFunction(name: string, fn: RegisteredFunction): void {
    checkName(name, 'The name of a function')
    if (typeof fn !== 'function') throw new InvalidArgumentError(`functions["${name}"] must be a function.`)
    this.#add({ kind: 'function', workflow: asWorkflow(name), fn })
  }

  /** The definition of a name, of the version registered last. */
  byName(name: string): Definition {
    const definition = this.#newest.get(name)
    if (definition !== undefined) return definition
    const known = [...this.#newest.keys()].map((other) => `"${other}"`).join(', ') || 'none'
    throw new UnknownWorkflowError(
      `No workflow or function "${name}" is registered in this engine (registered: ${known}). Pass it to ` +
        'createEngine in `workflows` or `functions`.',
    )
  }

  /** The same, or `null` if there is none. */
  find(name: string): Definition | null {
    return this.#newest.get(name) ?? null
  }

  /** The definition that a run was, or is to be, started with, or `null`. */
  of(run: Pick<RunRecord, 'workflow' | 'version'>): Definition | null {
    return this.#definitions.get(identity(run.workflow, run.version)) ?? null
  }

  /** The same, or `null` if this engine cannot execute it. */
  executable(run: Pick<RunRecord, 'workflow' | 'version'>): Executable | null {
    const definition = this.of(run)
    return definition === null || definition.kind === 'declared' ? null : definition
  }

  #add(definition: Definition): void {
    const { name, version } = definition.workflow
    const same = identity(name, version)
    const existing = this.#definitions.get(same)
    if (existing !== undefined && !(existing.kind === 'declared' && definition.kind === 'workflow')) {
      const suffix = version === '' ? '' : ` version "${version}"`
      throw new DuplicateWorkflowError(
        `"${name}"${suffix} is registered twice; names are shared with functions.`,
      )
    }
    const other = this.#newest.get(name)
    if (other !== undefined && (other.kind === 'function') !== (definition.kind === 'function')) {
      throw new DuplicateWorkflowError(`"${name}" is registered as a workflow and as a function.`)
    }
    this.#definitions.set(same, definition)
    this.#newest.set(name, definition)
  }
}

/** Checks an input against a workflow's schema. Returns what the schema makes of it. */
export async function parseInput(
  workflow: Pick<Workflow, 'name' | 'schema'>,
  input: unknown,
): Promise<unknown> {
  if (workflow.schema === null) return input
  const result: StandardSchemaV1.Result<unknown> = await workflow.schema['~standard'].validate(input)
  if (result.issues === undefined) return result.value
  const issues = result.issues.map((issue) => ({ message: issue.message, path: pathOf(issue) }))
  const first = issues
    .slice(0, 3)
    .map((issue) => (issue.path === '' ? '' : `${issue.path}: `) + issue.message)
  throw new InvalidInputError(
    `The input of workflow "${workflow.name}" is not valid: ${first.join('; ')}`,
    issues,
  )
}

/** Reads a stored input. */
export async function loadInput(definition: Definition, run: RunRecord): Promise<unknown> {
  return await parseInput(definition.workflow, decodeValue(run.input))
}

function identity(name: string, version: string): string {
  return JSON.stringify([name, version])
}

function asWorkflow(name: string): Workflow {
  return {
    name,
    version: '',
    queue: DEFAULT_QUEUE,
    schema: null,
    retry: null,
    timeout: null,
    retention: null,
    keyOf: () => null,
    call: null,
  }
}

function pathOf(issue: StandardSchemaV1.Issue): string {
  const keys = (issue.path ?? []).map((part) => (typeof part === 'object' ? part.key : part))
  return keys.map(String).join('.')
}
